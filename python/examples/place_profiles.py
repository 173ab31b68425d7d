"""Profiles: features that belong together, by name."""
from strata.place.scheduler import SCHEDULER_PROFILES, create_scheduler_for_workload

for name, profile in SCHEDULER_PROFILES.items():
    scheduler = create_scheduler_for_workload(name)
    on = [feature for feature, enabled in profile.items() if feature != 'description' and enabled]
    assert all(scheduler.feature_flags[feature] for feature in on)
    print(f"{name}: {len(on)} features, {profile['description']}")
print("unheard of:", create_scheduler_for_workload('unheard_of').profile)

scheduler = create_scheduler_for_workload('basic_inference')
scheduler.enable_feature('semantic_optimization', True)
print("with one more:", scheduler.feature_flags['semantic_optimization'])
