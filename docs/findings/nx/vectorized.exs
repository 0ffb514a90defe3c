# Vectorized tensors: Nx returns wrong numbers, each without a word.
#
#     the gradient of sum(invert(x)) for a stack of two matrices, vectorized: entries of the first matrix stand
#     in the second, and rows are repeated; one by one it is right
#
#     indexed_add of a whole row, axes: [0]: entries go to other places; not vectorized it is right
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

Application.load(:nx)
Application.put_env(:nx, :default_backend, {Nx.BinaryBackend, []})
unless Application.get_env(:nx, :default_defn_options), do: Application.put_env(:nx, :default_defn_options, [])

numbers = &Nx.to_flat_list/1
sum_of_inverse = fn x -> Nx.sum(Nx.LinAlg.invert(x)) end
matrices = Nx.tensor([[[4.0, 2.0], [2.0, 5.0]], [[9.0, 3.0], [3.0, 10.0]]])
one_by_one = for k <- 0..1, n <- numbers.(Nx.Defn.grad(matrices[k], sum_of_inverse)), do: n

rows = Nx.tensor([[[0.5, 0.5]], [[1.0, 2.0]]])
add = fn x -> Nx.indexed_add(x, Nx.tensor([[0]]), x, axes: [0]) end

cases = [
  {"the gradient of sum(invert(x))", numbers.(Nx.Defn.grad(Nx.vectorize(matrices, :a), sum_of_inverse)), one_by_one},
  {"indexed_add", numbers.(add.(Nx.vectorize(rows, :a))), [1.0, 1.0, 2.0, 4.0]}
]

wrong =
  for {name, got, expected} <- cases do
    IO.puts("Nx #{Application.spec(:nx, :vsn)}: #{name}: got #{inspect(got)}, expected #{inspect(expected)}")
    length(got) != length(expected) or Enum.any?(Enum.zip(got, expected), fn {g, e} -> abs(g - e) > 1.0e-4 end)
  end

IO.puts(if Enum.any?(wrong), do: "wrong", else: "right")
System.halt(if Enum.any?(wrong), do: 1, else: 0)
