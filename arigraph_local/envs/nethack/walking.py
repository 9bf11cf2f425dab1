"""Skills of movement: through an exit, along a corridor, to a thing, up and down."""

from __future__ import annotations

from functools import partial

from arigraph_local.envs.nethack.doors import open_door
from arigraph_local.envs.nethack.grid import (
    NEIGHBOURS,
    Square,
    direction_to,
    distance,
    in_compass_order,
    is_diagonal,
    towards,
)
from arigraph_local.envs.nethack.paths import distances
from arigraph_local.envs.nethack.places import Place, PlaceKind
from arigraph_local.envs.nethack.play import Play, named
from arigraph_local.envs.nethack.sight import Kind, Thing
from arigraph_local.envs.nethack.skill import Skill
from arigraph_local.envs.nethack.steps import step, walk_to
from arigraph_local.envs.nethack.terrain import FEATURES, Terrain
from arigraph_local.envs.nethack.wording import counted

_DOWN, _UP = ">", "<"


def ways_out(play: Play) -> dict[str, list[Square]]:
    """Direction -> where a way out of this place lies: doors of a room, the next squares of a
    corridor, the squares beyond the border of a part of a cave."""
    level, place, hero = play.level, play.place, play.sight.hero
    if place.kind is PlaceKind.CAVE:
        return level.places.cave_ways(level.ground, place)
    found: dict[str, list[Square]] = {}
    if place.kind is PlaceKind.ROOM:
        for one in level.places.exits(level.ground, place):
            if one.square not in level.forbidden:
                found.setdefault(one.direction, []).append(one.square)
        return found
    footing = level.footing(play.sight)
    closed = set(level.closed_doors())
    for square in NEIGHBOURS[hero]:
        is_door = square in closed and not is_diagonal(hero, square)
        if is_door or square in footing.steps(hero):
            found[direction_to(hero, square)] = [square]
    return found


def go_skills(play: Play) -> list[Skill]:
    """`go DIRECTION` for each way out, and `go up` or `go down` where the way is in this place."""
    ways = ways_out(play)
    skills = [
        Skill(f"go {direction}", partial(go, direction=direction))
        for direction in in_compass_order(set(ways))
        if play.can_reach(ways[direction])
    ]
    level, place = play.level, play.place
    for name, squares in (("down", level.ways_down()), ("up", _ways_up(play))):
        here = [square for square in squares if level.places.of(square) == place]
        if here and play.can_reach(here):
            key = _DOWN if name == "down" else _UP
            skills.append(Skill(f"go {name}", partial(_take_stairs, squares=here, key=key)))
    return skills


def travel_skills(play: Play) -> list[Skill]:
    """To the stairs of the level that have been seen and can be reached."""
    hero = play.sight.hero
    return [
        Skill(f"travel to staircase {name}", partial(_travel, squares=squares, name=name))
        for name, squares in (("down", play.level.ways_down()), ("up", play.level.ways_up()))
        if hero not in squares and play.can_reach(squares)
    ]


def go_to_skills(play: Play, *, whole_level: bool) -> list[Skill]:
    """`go to THING` for exits, features and objects of this place, or of the whole level."""
    level, hero = play.level, play.sight.hero
    exits = {
        one.name: one.square
        for one in level.places.exits(level.ground, play.place)
        if one.square != hero and one.square in play.reached()
    }
    things = {
        name: thing.square
        for name, thing in named(things_to_go_to(play, whole_level=whole_level), hero).items()
    }
    return [
        Skill(f"go to {name}", partial(_go_to, square=square, name=name))
        for name, square in {**exits, **things}.items()
        if play.can_reach([square])
    ]


def things_to_go_to(play: Play, *, whole_level: bool) -> list[Thing]:
    """Features and objects in view or remembered, here or on the whole level."""
    level, hero = play.level, play.sight.hero
    squares = (
        {square for square, terrain in enumerate(level.ground) if terrain}
        if whole_level
        else set(level.places.squares(level.ground, play.place))
    )
    features = [
        Thing(square, Kind.OBJECT, FEATURES[Terrain(level.ground[square])])
        for square in sorted(squares)
        if level.ground[square] in FEATURES
    ]
    found = features + level.objects_in(squares)
    return [thing for thing in found if thing.square != hero]


def go(play: Play, *, direction: str) -> str:
    """Leave this place in a direction and follow the way until it forks, ends or arrives."""
    origin = play.place
    targets = ways_out(play).get(direction, [])
    closed = {one for one in targets if play.level.ground[one] == Terrain.CLOSED_DOOR}
    footing = play.level.footing(play.sight, daring=True, onto=frozenset(closed))
    reached = distances(footing, play.sight.hero)
    within = [square for square in targets if square in reached]
    if not within:
        return f"there is no way {direction} that you can walk"
    target = min(within, key=lambda square: (reached[square], square))
    if target in closed:
        said = open_door(play, square=target, name="door")
        if play.level.ground[target] == Terrain.CLOSED_DOOR:
            return said
    start = play.sight.hero
    walk_to(play, target.__eq__)
    if play.place != origin and play.place.kind is not PlaceKind.CORRIDOR:
        return _arrived(play)
    if origin.kind is PlaceKind.ROOM:
        start = play.sight.hero
        _leave(play, origin, direction)
    return _follow(play, origin, start)


def _leave(play: Play, room: Place, direction: str) -> None:
    """From the doorway to the square outside, straight on if that is known."""
    hero = play.sight.hero
    outside = [
        square
        for square in play.level.footing(play.sight).steps(hero)
        if play.level.places.of(square) != room
    ]
    straight = towards(hero, direction)
    if outside:
        step(play, straight if straight in outside else outside[0])


def _follow(play: Play, origin: Place, before: Square) -> str:
    """Along a corridor, coming from the square `before`, to the first fork, end or room."""
    walked = {before, play.sight.hero}
    while True:
        place, hero = play.place, play.sight.hero
        if place.kind is not PlaceKind.CORRIDOR:
            return _arrived(play) if place != origin else "you find no way on"
        ahead = [
            square
            for square in play.level.footing(play.sight).steps(hero)
            if square not in walked
            and square not in NEIGHBOURS[before]
            and (play.level.places.of(square) != origin or origin.kind is PlaceKind.CORRIDOR)
        ]
        if not ahead:
            return "you come to the end of the way"
        if any(distance(ahead[0], other) > 1 for other in ahead[1:]):
            ways = {direction_to(hero, square) for square in ahead}
            return f"the way forks: {', '.join(in_compass_order(ways))}"
        before = hero
        walked.add(ahead[0])
        step(play, ahead[0])


def _arrived(play: Play) -> str:
    return f"you come to {play.place}"


def _go_to(play: Play, *, square: Square, name: str) -> str:
    steps = walk_to(play, square.__eq__, onto=frozenset({square}))
    if steps is None:
        return f"you know no way to the {name}"
    return f"you walk {counted(steps, 'square')} to the {name}"


def _travel(play: Play, *, squares: list[Square], name: str) -> str:
    steps = _walk_to_stairs(play, squares)
    if steps is None:
        return f"you know no way to a staircase {name}"
    return f"you walk {counted(steps, 'square')} and stand on the way {name}"


def _walk_to_stairs(play: Play, squares: list[Square]) -> int | None:
    return walk_to(play, set(squares).__contains__, onto=frozenset(squares))


def _take_stairs(play: Play, *, squares: list[Square], key: str) -> str:
    if _walk_to_stairs(play, squares) is None:
        return "there is no way to get there"
    # A hole takes one down at the last step, which ends the skill; if not, one can jump.
    play.act(key)
    return "you stay where you are"


def _ways_up(play: Play) -> list[Square]:
    """The stairs up, but not those that lead out of the dungeon and end the game."""
    return [] if play.sight.vitals.depth == 1 else play.level.ways_up()
