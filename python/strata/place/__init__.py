"""Which operator of a model runs on which device: the place level of Strata for torch modules.

    >>> import torch, strata.place
    >>> strata.place.execute_model(torch.nn.Linear(784, 10), torch.zeros(1, 784)).shape
    torch.Size([1, 10])

The plan is the C level's; torch captures the model and computes. What was learned is kept between runs.
"""
from .._needs import need

need(__name__, "torch", extra="place")
from . import compile as _compile
from .adaptive import FEATURES, SCHEDULER_PROFILES, Choice, Event
from .devices import Device, Machine, Reach, devices_of, machine_of
from .execute import Executable
from .graph import Findings, Graph, Plan, Problem
from .modules import ModulePlan, device_map, plan_modules
from .scheduler import (AdaptiveScheduler, Placement, ProgressiveScheduler, Scheduler, create_advanced_scheduler, create_basic_scheduler,
                        create_scheduler_for_workload, create_scheduler_from_profile, create_semantic_scheduler, create_smart_scheduler,
                        detect_available_devices, execute_model, recommend_profile)
from .strategies import (AdvancedOptimizationStrategy, LoadBalancingStrategy, MemoryAwareOptimizationStrategy, MultiDeviceOptimizationStrategy,
                         SemanticOptimizationStrategy, Strategy)
from .wizard import customize_profile, detect_workload_type, get_pytorch_version, interactive_scheduler_setup, prompt_yes_no

__all__ = [
    "AdaptiveScheduler", "AdvancedOptimizationStrategy", "Choice", "Device", "Event", "Executable", "FEATURES", "Findings", "Graph",
    "LoadBalancingStrategy", "Machine", "MemoryAwareOptimizationStrategy", "ModulePlan", "MultiDeviceOptimizationStrategy", "Placement", "Plan", "Problem",
    "ProgressiveScheduler", "Reach", "SCHEDULER_PROFILES", "Scheduler", "SemanticOptimizationStrategy", "Strategy",
    "create_advanced_scheduler", "create_basic_scheduler", "create_scheduler_for_workload", "create_scheduler_from_profile",
    "create_semantic_scheduler", "create_smart_scheduler", "customize_profile", "detect_available_devices", "detect_workload_type", "device_map",
    "devices_of", "execute_model", "get_pytorch_version", "interactive_scheduler_setup", "machine_of", "plan_modules", "prompt_yes_no", "recommend_profile",
]

_compile.register()
