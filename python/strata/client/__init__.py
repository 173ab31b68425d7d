"""The service from Python: jobs, queue, nodes, events, pictures. The standard library is all it needs.

    import strata
    client = strata.Client()
    print(client.queue())

What goes wrong is a strata.Error with the service's sentence (`str(error)`), its `field` and its `status`.
"""
from .aio import AsyncClient
from .find import Place, find
from .picture import AsyncPicture, Picture
from .progress import Progress
from .rows import Checkpoint, Event, Job, Model, Node, Rows, Task
from .sync import Client

__all__ = ["AsyncClient", "AsyncPicture", "Checkpoint", "Client", "Event", "Job", "Model", "Node", "Picture", "Place", "Progress", "Rows", "Task",
           "find"]
