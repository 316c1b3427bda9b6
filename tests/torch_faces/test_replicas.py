"""Data-parallel training, two processes: equal replicas, equal multipliers, the numbers of one process on all rows."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from partialfair.errors import ConfigError, DataError  # noqa: E402
from partialfair.torch import BatchConstraint, StochasticIDCA  # noqa: E402
from tests.torch_faces.loops import (  # noqa: E402
    KAPPA,
    METHODS,
    GhostLoop,
    IDCALoop,
    Loop,
    batch_of,
    mlp,
    table,
)

pytestmark = pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="needs gloo")

STEPS, HALF = 30, 32
PARALLEL = [method for method in METHODS if method != "plada prox-linear"]


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def worker(rank: int, port: int, folder: Path) -> None:
    """What one replica does; results go to a file."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=2)
    try:
        found = {method: trained(method, rank) for method in PARALLEL}
        found |= {"ghost": directions(GhostLoop(), rank), "idca": directions(IDCALoop(), rank)}
        found["shared rows"] = shared_rows(rank)
        found["refusals"] = refusals(rank)
        found["fsdp"] = sharded(rank)
        torch.save(found, folder / f"{rank}.pt")
    finally:
        dist.destroy_process_group()


def rows_of(k: int, rank: int) -> Any:
    return batch_of(k, 2 * HALF)[HALF * rank : HALF * (rank + 1)]


def trained(method: str, rank: int) -> tuple[Any, Any]:
    """Weights and multipliers after some steps of DistributedDataParallel, each replica on rows of its own."""
    loop = Loop(method)
    loop.network = DistributedDataParallel(loop.network)
    for k in range(STEPS):
        loop.optimiser.zero_grad()
        loop.scalar(rows_of(k, rank)).backward()
        loop.optimiser.step()
    return loop.vector, loop.duals


def directions(loop: Any, rank: int) -> tuple[Any, Any]:
    for k in range(8):
        loop.step(2 * k + rank)
    return loop.vector, loop.idca.queues if hasattr(loop, "idca") else torch.zeros(0)


def shared_rows(rank: int) -> tuple[Any, Any]:
    """Values of one constraint on the rows of both replicas, of which the second lacks a group; mean derivatives."""
    X, group, _ = table()
    rows = torch.arange(0, 40) if rank == 0 else 40 + torch.nonzero(group[40:90] == 0).flatten()
    constraint = BatchConstraint(2, "partial_demographic_parity", kappa=KAPPA, process_group=dist.group.WORLD)
    network = DistributedDataParallel(mlp())
    values = constraint(network(X[rows])[:, 0], group[rows])
    values.square().sum().backward()
    return values.detach(), torch.cat([p.grad.reshape(-1) for p in network.parameters()])


def refusals(rank: int) -> list[str]:
    """What every replica says, also of faults that only one of them has."""
    said = []
    loop = Loop("alm")
    loss, values = loop.parts(batch_of(0))
    for fault in (lambda: loop.lagrangian(loss * float("nan") if rank == 0 else loss, values),
                  lambda: loop.lagrangian(loss, values * float("nan") if rank == 0 else values),
                  lambda: Loop("plada prox-linear").scalar(batch_of(0)),
                  lambda: StochasticIDCA(DistributedDataParallel(mlp()), loop.gap)):  # fmt: skip
        try:
            fault()
            said.append("nothing")
        except (DataError, ConfigError) as error:
            said.append(str(error))
    return said


def sharded(rank: int) -> Any:
    """Weights of a run whose parameters, and anchors, are sharded (FSDP2)."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    network = mlp()
    fully_shard(network, mesh=init_device_mesh("cpu", (2,)))
    loop = Loop("ssl_alm", network=network)
    for k in range(10):
        loop.optimiser.zero_grad()
        loop.scalar(rows_of(k, rank)).backward()
        loop.optimiser.step()
    return torch.cat([p.detach().full_tensor().reshape(-1) for p in network.parameters()])


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("replicas")
    mp.start_processes(worker, (free_port(), folder), nprocs=2, start_method="spawn")
    return [torch.load(folder / f"{rank}.pt") for rank in (0, 1)]


@pytest.mark.parametrize("method", PARALLEL)
def test_replicas_and_multipliers_are_equal_to_the_bit(method: str, replicas: list[dict[str, Any]]) -> None:
    (first, duals), (second, other) = (results[method] for results in replicas)
    assert torch.equal(first, second) and torch.equal(duals, other)
    assert (first - Loop(method).vector).abs().max() > 0.02


@pytest.mark.parametrize("method", [method for method in PARALLEL if method != "switching"])
def test_replicas_are_one_process_that_sees_the_mean_of_their_batches(
    method: str, replicas: list[dict[str, Any]]
) -> None:
    loop = Loop(method)
    for k in range(STEPS):
        parts = [loop.parts(rows_of(k, rank)) for rank in (0, 1)]
        loss, values = (torch.stack(part).mean(dim=0) for part in zip(*parts, strict=True))
        loop.optimiser.zero_grad()
        loop.lagrangian(loss, values).backward()
        loop.optimiser.step()
    torch.testing.assert_close(replicas[0][method][0], loop.vector, rtol=1e-3, atol=2e-5)
    torch.testing.assert_close(replicas[0][method][1], loop.duals, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("method", ["ghost", "idca"])
def test_written_directions_are_averaged(method: str, replicas: list[dict[str, Any]]) -> None:
    (first, queues), (second, other) = (results[method] for results in replicas)
    assert torch.equal(first, second) and torch.equal(queues, other)
    assert (first - mlp_vector()).abs().max() > 0.02


def mlp_vector() -> Any:
    return nn.utils.parameters_to_vector(mlp().parameters()).detach()


def test_a_constraint_on_the_rows_of_all_replicas_is_that_of_one_process(replicas: list[dict[str, Any]]) -> None:
    X, group, _ = table()
    rows = torch.cat([torch.arange(0, 40), 40 + torch.nonzero(group[40:90] == 0).flatten()])
    network = mlp()
    values = BatchConstraint(2, "partial_demographic_parity", kappa=KAPPA)(network(X[rows])[:, 0], group[rows])
    values.square().sum().backward()
    for results in replicas:
        torch.testing.assert_close(results["shared rows"][0], values.detach())
        gradient = torch.cat([p.grad.reshape(-1) for p in network.parameters()])
        torch.testing.assert_close(results["shared rows"][1], gradient, rtol=1e-4, atol=1e-6)


def test_all_replicas_refuse_what_is_wrong_in_one(replicas: list[dict[str, Any]]) -> None:
    first, second = (results["refusals"] for results in replicas)
    assert "the loss is nan" in first[0] and "in one of the replicas" in second[0]
    for said in (first, second):
        assert "constraints ['constraint 0', 'constraint 1'] are not finite" in said[1]
        assert "use 'linearised'" in said[2] and "without DistributedDataParallel" in said[3]


def test_sharded_parameters_take_the_same_steps(replicas: list[dict[str, Any]]) -> None:
    loop = Loop("ssl_alm")
    for k in range(10):
        parts = [loop.parts(rows_of(k, rank)) for rank in (0, 1)]
        loss, values = (torch.stack(part).mean(dim=0) for part in zip(*parts, strict=True))
        loop.optimiser.zero_grad()
        loop.lagrangian(loss, values).backward()
        loop.optimiser.step()
    for results in replicas:
        torch.testing.assert_close(results["fsdp"], loop.vector, rtol=1e-4, atol=1e-5)
