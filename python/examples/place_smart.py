"""A scheduler by what the machine has."""
from strata.place import create_smart_scheduler, detect_available_devices, get_pytorch_version

print("torch 2 or newer:", get_pytorch_version() >= (2, 0))
print("devices:", len(detect_available_devices()) >= 1)
scheduler = create_smart_scheduler()
print("mode fits:", scheduler.mode == ('advanced' if len(detect_available_devices()) > 1 else 'basic'))
print("two sets of one core:", create_smart_scheduler(devices=['cpu:0', 'cpu:0']).mode)
