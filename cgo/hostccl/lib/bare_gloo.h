// Gloo's allreduce as Gloo's own documentation uses it: what the benchmarks
// compare this library with.
#pragma once

#include <gloo/context.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace hostccl {

// Connects all ranks through files in a directory that all can see.
std::shared_ptr<gloo::Context> connectBareGloo(int rank, int ranks, const std::string& directory);

// Out of place, as the gate calls it.
void bareAllReduce(const std::shared_ptr<gloo::Context>& context, const std::vector<float>& send,
                   std::vector<float>& recv);

template <class Body>
double secondsOf(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values);

}  // namespace hostccl
