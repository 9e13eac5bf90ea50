// gloo-bench RANK RANKS DIRECTORY BYTES WARMUP ITERATIONS
//
// Bare Gloo, without any of this project: an allreduce of float32 between
// processes that meet in a directory. Rank 0 prints the median seconds of an
// iteration. Honours NCCL_SOCKET_IFNAME, to use the same network as the gate.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "bare_gloo.h"

namespace {

struct Arguments {
  int rank;
  int ranks;
  std::string directory;
  size_t bytes;
  int warmup;
  int iterations;
};

double measure(const Arguments& arguments) {
  const auto context =
      hostccl::connectBareGloo(arguments.rank, arguments.ranks, arguments.directory);
  const std::vector<float> send(arguments.bytes / sizeof(float), 1);
  std::vector<float> recv(send.size());
  std::vector<double> seconds;
  for (int i = 0; i < arguments.warmup + arguments.iterations; i++) {
    const double one = hostccl::secondsOf([&] { hostccl::bareAllReduce(context, send, recv); });
    if (i >= arguments.warmup) seconds.push_back(one);
  }
  return hostccl::median(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: %s RANK RANKS DIRECTORY BYTES WARMUP ITERATIONS\n", argv[0]);
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  const Arguments arguments{atoi(argv[1]), atoi(argv[2]), argv[3], strtoull(argv[4], nullptr, 10),
                            atoi(argv[5]), atoi(argv[6])};
  if (arguments.bytes < sizeof(float) || arguments.warmup < 0 || arguments.iterations < 1) {
    fprintf(stderr, "gloo-bench: BYTES must be at least 4, ITERATIONS at least 1\n");
    return 64;
  }
  try {
    const double seconds = measure(arguments);
    if (arguments.rank == 0) printf("%.9f\n", seconds);
  } catch (const std::exception& error) {
    fprintf(stderr, "gloo-bench: rank %d: %s\n", arguments.rank, error.what());
    return 1;
  }
  return 0;
}
