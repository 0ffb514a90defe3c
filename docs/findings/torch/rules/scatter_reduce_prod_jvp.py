"""The derivative of torch.scatter_reduce with "prod" is 0 in forward mode.

    scatter_reduce(x, 0, [1, 0, 2], y, "prod") is [x0 y1, x1 y0, x2 y2]
    with include_self=False it is [y1, y0, y2]

So along dx, dy the first entry has the derivative dx0 y1 + x0 dy1, or dy1 without itself, and so on. Reverse
mode is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch

x, y, dx, dy = (
    torch.tensor(numbers, dtype=torch.float64)
    for numbers in ([1.5, 2.0, 3.0], [2.0, 3.0, 5.0], [1.0, -0.5, 0.25], [1.0, 2.0, -4.0])
)
index, order = torch.tensor([1, 0, 2]), [1, 0, 2]
wrong = False
print(f"torch {torch.__version__}")
for included in (True, False):

    def function(x, y, included=included):
        return torch.scatter_reduce(x, 0, index, y, "prod", include_self=included)

    expected = dx * y[order] + x * dy[order] if included else dy[order]
    got = torch.func.jvp(function, (x, y), (dx, dy))[1]
    by_x, by_y = torch.func.jacrev(function, (0, 1))(x, y)
    reverse = by_x @ dx + by_y @ dy
    right = torch.allclose(got, expected)
    numbers = f"expected {expected.tolist()}, forward {got.tolist()}, reverse {reverse.tolist()}"
    print(f"include_self={included}: {numbers}{'' if right else '   wrong'}")
    wrong |= not right
sys.exit(int(wrong))
