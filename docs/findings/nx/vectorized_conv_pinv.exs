# Vectorized tensors: Nx.conv and the gradient of Nx.LinAlg.pinv return wrong numbers, each without a word.
#
#     conv of batches of two images by two kernels, for two batches along an axis: entries of the second batch
#     stand in the first; one by one, and with one image in a batch, it is right
#
#     the gradient of sum(pinv(x)) for two matrices of 2 x 2 along an axis: half of its entries are missing,
#     those of the second matrix; a column each is right
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
# Kernels of one entry multiply: of images [a] and [b] and kernels 10 and 100 the result is 10 a, 100 a, 10 b, 100 b.
images = Nx.vectorize(Nx.tensor([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]), :a)
kernels = Nx.tensor([[[10.0]], [[100.0]]])

# pinv of a matrix that has an inverse is the inverse; the gradient of the sum of its entries is -v u^T, where
# u and v are the sums of the inverse's rows and columns: of [[2, 0], [0, 4]] it is -[1/2, 1/4]^T [1/2, 1/4]
matrices = Nx.vectorize(Nx.tensor([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]]), :a)
gradient = Nx.Defn.grad(matrices, fn x -> Nx.sum(Nx.LinAlg.pinv(x)) end)

cases = [
  {"conv", numbers.(Nx.conv(images, kernels)), [10.0, 100.0, 20.0, 200.0, 30.0, 300.0, 40.0, 400.0]},
  {"the gradient of sum(pinv(x))", numbers.(gradient), [-0.25, -0.125, -0.125, -0.0625, -1.0, -0.5, -0.5, -0.25]}
]

wrong =
  for {name, got, expected} <- cases do
    IO.puts("Nx #{Application.spec(:nx, :vsn)}: #{name}: got #{inspect(got)}, expected #{inspect(expected)}")
    length(got) != length(expected) or Enum.any?(Enum.zip(got, expected), fn {g, e} -> abs(g - e) > 1.0e-4 end)
  end

IO.puts(if Enum.any?(wrong), do: "wrong", else: "right")
System.halt(if Enum.any?(wrong), do: 1, else: 0)
