"""`trips` with a mistake: on the way back the trips of a loop are taken first to last."""

import trips
from trips import *  # noqa: F403 - the same but for the mistake
from trips import Number, gradient, repeat  # noqa: F401

trips.way_back = list
