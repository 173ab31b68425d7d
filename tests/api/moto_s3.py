"""moto as an S3 that checks signatures, for test_mirror.py: says where it is, then answers "keys" until its input ends."""
import json
import os
import sys

os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "3"  # making a user and a key; all else is to be signed
import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
url = "http://127.0.0.1:%d" % server.get_host_and_port()[1]
at = {"endpoint_url": url, "region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
iam = boto3.client("iam", **at)
iam.create_user(UserName="u")
rights = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps(rights))
key = iam.create_access_key(UserName="u")["AccessKey"]
at.update(aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])
s3 = boto3.client("s3", **at)
s3.create_bucket(Bucket="bucket")
print(json.dumps([url, key["AccessKeyId"], key["SecretAccessKey"]]), flush=True)
for line in sys.stdin:
    print(json.dumps(sorted(one["Key"] for one in s3.list_objects_v2(Bucket="bucket").get("Contents", []))), flush=True)
server.stop()
