#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'lists jobs and their steps'
serve_slurm
run strata slurm sacct -S 2026-11-01 -j 11
gives 0
says ''
prints 'JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
------------ ---------- ---------- ---------- ---------- ---------- -------- 
11                train        gpu        lab          4     FAILED      7:0 
11.batch          batch                   lab          4     FAILED      7:0 '

it 'prints what is asked for, as wide as is asked for'
serve_slurm
run strata slurm sacct -n -X -j 11 -o 'jobid%4,jobname%3,elapsed,alloctres%42,reqmem,nodelist'
prints '11   tr+   00:00:05   billing=4,cpu=4,gres/gpu=1,mem=8G,node=1         8G              n1 '
run strata slurm sacct -P -j 11 -o jobid,state,start,end,exitcode
prints 'JobID|State|Start|End|ExitCode
11|FAILED|2026-11-15T14:00:00|2026-11-15T14:00:05|7:0
11.batch|FAILED|2026-11-15T14:00:00|2026-11-15T14:00:05|7:0'
run strata slurm sacct -p -n -X -j 11 -o jobid,state
prints '11|FAILED|'
run strata slurm sacct --delimiter=: -P -n -X -j 11 -o jobid,state
prints '11:FAILED'

it 'picks'
serve_slurm
run strata slurm sacct -n -X -P -S 2026-11-01 -s F -o jobid
prints 11
run strata slurm sacct -n -X -P -S 2026-11-01 --name sweep -o jobid,state,start
prints '20_[1,4,7%2]|PENDING|Unknown'
run strata slurm sacct -n -X -P -S 2026-11-01 -E 2026-11-02 -o jobid
prints ''
run strata slurm sacct -j 99 -n
gives 0
prints ''

it 'picks by size, limit, group and constraint'
serve_slurm
all='sacct -n -X -P -S 2026-11-01 -o jobid'
run strata slurm $all -I 4 -s F
prints '11'
run strata slurm $all -I 5
prints ''
run strata slurm $all -I 2-4 -s F
prints '11'
run strata slurm $all --ncpus=9-99
prints ''
run strata slurm $all -i 2
prints ''
run strata slurm $all -i 1-4 -s F
prints '11'
run strata slurm $all -k 2:00:00 -s F
prints '11'
run strata slurm $all -k 1:00:00 -s F
prints ''
run strata slurm $all -k 1:00:00 -K 3:00:00 -s F
prints '11'
run strata slurm $all -g 0 -s F
prints '11'
run strata slurm $all -g 12345
prints ''
run strata slurm $all -C ib
prints ''
run strata slurm sacct -n -X -P -T -S 2026-11-15T14:00:02 -E 2026-11-15T14:00:04 -s F -o jobid,start,end,elapsed
prints '11|2026-11-15T14:00:02|2026-11-15T14:00:04|00:00:02'
run strata slurm sacct -I many
gives 1
says_some 'invalid range for --ncpus: many'

it 'names its fields, and fills each for a job and for its step'
serve_slurm
run strata slurm sacct --helpformat
gives 0
prints 'Account             AdminComment        AllocCPUS           AllocNodes         
AllocTRES           AssocID             AveCPU              AveCPUFreq         
AveDiskRead         AveDiskWrite        AvePages            AveRSS             
AveVMSize           BlockID             Cluster             Comment            
Constraints         ConsumedEnergy      ConsumedEnergyRaw   Container          
CPUTime             CPUTimeRAW          DBIndex             DerivedExitCode    
Elapsed             ElapsedRaw          Eligible            End                
ExitCode            Flags               GID                 Group              
JobID               JobIDRaw            JobName             Layout             
MaxDiskRead         MaxDiskReadNode     MaxDiskReadTask     MaxDiskWrite       
MaxDiskWriteNode    MaxDiskWriteTask    MaxPages            MaxPagesNode       
MaxPagesTask        MaxRSS              MaxRSSNode          MaxRSSTask         
MaxVMSize           MaxVMSizeNode       MaxVMSizeTask       McsLabel           
MinCPU              MinCPUNode          MinCPUTask          NCPUS              
NNodes              NodeList            NTasks              Partition          
Priority            QOS                 QOSRAW              Reason             
ReqCPUFreq          ReqCPUFreqGov       ReqCPUFreqMax       ReqCPUFreqMin      
ReqCPUS             ReqMem              ReqNodes            ReqTRES            
Reservation         ReservationId       Reserved            ResvCPU            
ResvCPURAW          Start               State               Submit             
SubmitLine          Suspended           SystemComment       SystemCPU          
Timelimit           TimelimitRaw        TotalCPU            TRESUsageInAve     
TRESUsageInMax      TRESUsageInTot      TRESUsageOutTot     UID                
User                UserCPU             WCKey               WCKeyID            
WorkDir            '
run strata slurm sacct -n -P -j 11 -o "$(printf %s "$out" | tr -s ' \n' ',')"
gives 0
prints 'lab||4|1|billing=4,cpu=4,gres/gpu=1,mem=8G,node=1||||||||||strata||||||00:00:20|20||0:0|00:00:05|5|2026-11-15T14:00:00|2026-11-15T14:00:05|7:0||0|root|11|11|train|||||||||||||||||||||4|1|n1||gpu|7500|normal||NonZeroExitCode|||||4|8G|1|billing=4,cpu=4,gres/gpu=1,mem=8G,node=1|||00:00:00|||2026-11-15T14:00:00|FAILED|2026-11-15T14:00:00||00:00:00||00:00.000|02:00:00|120|00:00.000|||||0|ann|00:00.000|||/home/ann
lab||4|1|cpu=4,gres/gpu=1,mem=8G,node=1||||||||||strata||||||00:00:20|20|||00:00:05|5|2026-11-15T14:00:00|2026-11-15T14:00:05|7:0||||11.batch|11.batch|batch|||||||||||||||||||||4|1|n1|1||||||||||4||1|||||||2026-11-15T14:00:00|FAILED|2026-11-15T14:00:00||00:00:00||00:00.000|||00:00.000|||||||00:00.000|||'

it 'refuses as Slurm does'
run strata slurm sacct --format=nope
gives 1
says 'sacct: error: Invalid field requested: "nope"'
run strata slurm sacct -S never
gives 1
says 'Invalid time specification (pos=0): never'

it 'keeps rows and columns apart, whatever a job is called'
odd=$(job id=11 'name="a|b\nforged|row"' 'comment="\u001b[2Jx"' 'account="lab|\u202eab"' 'state="failed"' 'reason="exit_code"' exit_code=7 exit_signal=0 attempt=1 \
	'started_at="2026-11-15T14:00:00Z"' 'ended_at="2026-11-15T14:00:05Z"' uid=0 gid=0 'request={}')
serve "{\"GET /api/v1/jobs/11\": {\"body\": $odd}, $people, $nodes}"
run strata slurm sacct -P -n -X -j 11 -o jobid,jobname,account,comment,state
prints '11|a\x7cb\nforged\x7crow|lab\x7c\u202eab|\x1b[2Jx|FAILED'
run strata slurm sacct -P -n -X -j 11 --delimiter=: -o jobname,elapsed
prints 'a|b\nforged|row:00:00:05'
run strata slurm sacct -n -X -j 11 -o jobid%3,jobname%20
prints '11       a|b\nforged|row '
