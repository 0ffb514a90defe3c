# The gradient of a while loop in f64: Nx returns the bytes of an f64 number, read as f32.
#
#     acc = 1.0
#     for i in range(3):
#         acc = acc * x          x^3, the derivative is 3 x^2
#
# The cotangents that the loop on the way back carries have the type of the incoming one, which is f32; its body computes in f64, and nothing compares
# the two (nx/lib/nx/defn/grad.ex, update_grads(:while, ...)). The evaluator then reads the first four of eight bytes: 0.0 for every round number, any
# number for others. Known: Nx issue 1827, closed after commit 37901d74 of 2026-08-18, on which this was run.
#
# Prints got and expected, and exits with 1 while they differ. Needs Elixir and Nx; run it with: elixir FILE

unless Code.ensure_loaded?(Nx) do
  try do
    Mix.install([{:nx, "~> 0.10"}])
  rescue
    _ ->
      IO.puts(:stderr, "This script needs Nx")
      System.halt(125)
  end
end

Application.put_env(:nx, :default_backend, {Nx.BinaryBackend, []})
unless Application.get_env(:nx, :default_defn_options), do: Application.put_env(:nx, :default_defn_options, [])

defmodule Program do
  import Nx.Defn

  defn power(x) do
    {acc, _, _} =
      while {acc = Nx.f64(1.0), i = 0, x}, i < 3 do
        {acc * x, i + 1, x}
      end

    acc
  end
end

x = 0.5
gradient = Nx.Defn.grad(Nx.f64(x), &Program.power/1)
got = Nx.to_number(gradient)
expected = 3 * x * x
IO.puts("Nx #{Application.spec(:nx, :vsn)}: derivative of x^3 at #{x}: got #{got} (#{inspect(Nx.type(gradient))}), expected #{expected}")
wrong = not (is_number(got) and abs(got - expected) < 1.0e-12)
IO.puts(if wrong, do: "wrong", else: "right")
System.halt(if wrong, do: 1, else: 0)
