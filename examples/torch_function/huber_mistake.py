"""`huber` with a mistake: in the quadratic branch the slope is not divided by beta."""

import torch
from huber import Huber


class Mistake(Huber):
    @staticmethod
    def backward(ctx, cotangent):
        (x,) = ctx.saved_tensors
        return cotangent * torch.where(x.abs() < ctx.beta, x, torch.sign(x)), None


def huber(x, beta=0.75):
    return Mistake.apply(x, beta)
