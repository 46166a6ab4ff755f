"""Where the policy may go, and what it reads of the map there."""

import math

import torch

from flaneur.agent.motion import MotionHead, MotionSpace, Places
from flaneur.agent.views import Views

SPACE, WINDOW, SIDE = MotionSpace(), 200.0, 32
EDGES = slice(17, 25)


def views(pose: tuple[float, float], frontier: list[tuple[int, int]] = (), before: tuple[float, float] | None = None) -> Views:
    """One agent at `pose`, frontier in the coarse cells (row, column)."""
    poses = torch.full((1, 5, 6), torch.nan)
    poses[0, -1] = torch.tensor([*pose, 8.0, 0, 0, 0])
    if before:
        poses[0, -2] = torch.tensor([*before, 8.0, 0, 0, 0])
    coarse = torch.zeros(1, 15, SIDE, SIDE, dtype=torch.uint8)
    for row, column in frontier:
        coarse[0, -2, row, column] = 60
    return Views(coarse, torch.zeros(1, 15, 64, 64, dtype=torch.uint8), poses, torch.zeros(1))


def head(widths: tuple[int, ...] = ()) -> MotionHead:
    torch.manual_seed(0)
    return MotionHead(16, SPACE, widths, 2 * WINDOW)


def test_moves_out_of_the_window_are_never_taken() -> None:
    v = views((1.0, 100.0))
    places = SPACE.places(v, WINDOW)
    assert places.allowed[0, 0] and places.allowed[0, 1] and not places.allowed[0, 5]  # staying, east, west
    assert not places.allowed[0, EDGES].any()  # no frontier anywhere
    d = head().forward(torch.randn(500, 16), Places(*(t.expand(500, *t.shape[1:]) for t in (places.xy, places.allowed, places.features))), v.poses[:, -1].expand(500, 6))
    action = d.sample(torch.Generator().manual_seed(0))
    assert places.allowed[0, action[:, 0] // SPACE.headings].all() and len(action[:, 0].unique()) > 30
    assert torch.isfinite(d.log_prob(action)).all() and torch.isfinite(d.entropy()).all()


def test_goals_are_where_the_compass_says() -> None:
    space = MotionSpace(altitudes=(3.0, 8.0, 20.0, 45.0, 80.0))
    v = views((50.0, 60.0))
    places = space.places(v, WINDOW)
    goals = space.goal(torch.tensor([[0, 0, 0], [10, 1, 1], [92, 4, 2]]), Places(*(t.expand(3, *t.shape[1:]) for t in (places.xy, places.allowed, places.features))))
    torch.testing.assert_close(goals[0], torch.tensor([50.0, 60, 3, 0, 0]))
    torch.testing.assert_close(goals[1], torch.tensor([58.0, 60, 8, torch.pi / 2, -torch.pi / 6]))
    torch.testing.assert_close(goals[2], torch.tensor([50.0, 92, 80, torch.pi, -torch.pi / 3]))


def test_the_nearest_edge_of_the_known_in_every_direction_is_a_place() -> None:
    # From the middle of cell (16, 16): two frontiers to the east, the nearer counts; one to the north; one's own cell does not count.
    here = (16.5 * 6.25, 16.5 * 6.25)
    places = SPACE.places(views(here, [(16, 20), (16, 24), (26, 16), (16, 16)]), WINDOW)
    assert places.allowed[0, EDGES].tolist() == [True, False, True, False, False, False, False, False]
    torch.testing.assert_close(places.xy[0, 17], torch.tensor([20.5 * 6.25, here[1]]))
    torch.testing.assert_close(places.xy[0, 19], torch.tensor([here[0], 26.5 * 6.25]))
    farther = places.features[0, EDGES, 0]
    assert farther[0] == 0 and abs(float(farther[2]) - 6 * 6.25 / 8) < 1e-5  # 62.5 m against 25


def test_features_know_what_kind_of_place_it_is_where_one_came_from_and_has_been() -> None:
    places = SPACE.places(views((100.0, 100.0), before=(92.0, 100.0)), WINDOW)
    stay, near, far, onward, visited, stuck = places.features[0, :, 1:].unbind(-1)
    assert stay.tolist() == [1.0] + 24 * [0.0] and near.sum() == 8 and far.sum() == 8
    assert onward[1] == 1 and abs(float(onward[5]) + 1) < 1e-6 and onward[0] == 0  # going on to the east, back to the west
    assert visited[5] == 1 and visited[1] == 0 and visited[0] == 0  # eight metres west one has just been
    assert not stuck.any()  # an episode that has just begun
    v = views((100.0, 100.0))
    v.poses[0, -4] = v.poses[0, -1]
    assert SPACE.places(v, WINDOW).features[0, :, 6].tolist() == 17 * [0.0] + 8 * [1.0]  # to whatever edge one was flying: not this way


def test_the_untrained_policy_is_a_frontier_explorer_that_looks_where_it_goes() -> None:
    v = views((16.5 * 6.25, 16.5 * 6.25), [(16, 20), (26, 16)])
    d = head().forward(torch.zeros(1, 16), SPACE.places(v, WINDOW), v.poses[:, -1])
    place = d.log_p[0].exp().view(SPACE.moves, SPACE.headings)
    assert place.sum(1).argmax() == 17 and place[17].argmax() == 0 and place.sum(1)[17] > 0.5  # the nearer one, looking east
    assert SPACE.altitudes[int(d.log_p[1].argmax())] == 8.0 and SPACE.pitches[int(d.log_p[2].argmax())] == -30.0


def test_a_goal_is_worth_what_the_map_shows_there_and_in_the_direction_of_view() -> None:
    v = views((100.0, 100.0))
    places, pose = SPACE.places(v, WINDOW), v.poses[:, -1]
    net = head((4, 4, 4))
    levels = [torch.randn(1, 4, side, side, requires_grad=True) for side in (32, 16, 8)]
    # Flying 32 m to the north (place 11), looking west (heading 4): 32 m and then 12 m from the middle of a picture of 12.5 m cells.
    place = 11 * SPACE.headings + 4

    def read(k: int, other: int) -> set[tuple[int, int]]:
        levels[0].grad = None
        logits = net(torch.randn(1, 16), places, pose, levels).log_p[0]
        (logits[0, k] - logits[0, other]).backward()
        return {tuple(c) for c in levels[0].grad.abs().sum((0, 1)).nonzero().tolist()}

    def cell(x: float, y: float) -> tuple[int, int]:
        return math.floor(16 + y / 12.5), math.floor(16 + x / 12.5)

    south_west = 12 * math.sqrt(0.5)
    assert read(place, place + 1) == {cell(-12, 32), cell(-south_west, 32 - south_west)}  # only what is seen differs
    assert read(place, 4) == {cell(0, 32), cell(-12, 32), cell(0, 0), cell(-12, 0)}  # against staying and looking west
