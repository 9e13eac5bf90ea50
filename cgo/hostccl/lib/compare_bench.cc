// hostccl-compare RANKS BYTES ITERATIONS
//
// Times this library's allreduce and bare Gloo's in turns, between the same
// processes, and prints both medians and their ratio.
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>
#include <stdexcept>

#include "bare_gloo.h"
#include "hostccl.h"
#include "nccl_api.h"

namespace {

constexpr int kWarmup = 3;

// What the processes share: rank 0 makes the id, the others wait for it.
struct Shared {
  std::atomic<bool> ready;
  ncclUniqueId id;
};

void check(ncclResult_t result) {
  if (result != ncclSuccess) throw std::runtime_error(ncclGetLastError(nullptr));
}

ncclComm_t connectHostccl(int rank, int ranks, Shared& shared) {
  if (rank == 0) {
    check(ncclGetUniqueId(&shared.id));
    shared.ready = true;
  }
  while (!shared.ready) usleep(1000);
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, ranks, shared.id, rank));
  return comm;
}

void compare(int rank, int ranks, size_t bytes, int iterations, Shared& shared,
             const std::string& directory) {
  const auto context = hostccl::connectBareGloo(rank, ranks, directory);
  ncclComm_t comm = connectHostccl(rank, ranks, shared);
  hostcclStream_t stream = nullptr;
  if (hostcclStreamCreate(&stream) != hostcclSuccess) throw std::runtime_error("no stream");
  const std::vector<float> send(bytes / sizeof(float), 1);
  std::vector<float> recv(send.size());
  std::vector<double> bare;
  std::vector<double> ours;
  for (int i = 0; i < 2 * (kWarmup + iterations); i++) {
    const bool oursNow = i % 2 == 1;
    const double seconds = hostccl::secondsOf([&] {
      if (!oursNow) return hostccl::bareAllReduce(context, send, recv);
      check(ncclAllReduce(send.data(), recv.data(), send.size(), ncclFloat32, ncclSum, comm, stream));
      hostcclStreamSynchronize(stream);
    });
    if (i >= 2 * kWarmup) (oursNow ? ours : bare).push_back(seconds);
  }
  check(ncclCommDestroy(comm));
  if (rank != 0) return;
  printf("ranks %d  bytes %zu  gloo %.6f s  hostccl %.6f s  ratio %.3f\n", ranks, bytes,
         hostccl::median(bare), hostccl::median(ours),
         hostccl::median(ours) / hostccl::median(bare));
}

int runRank(int rank, int ranks, size_t bytes, int iterations, Shared& shared,
            const std::string& directory) {
  try {
    compare(rank, ranks, bytes, iterations, shared, directory);
  } catch (const std::exception& error) {
    fprintf(stderr, "hostccl-compare: rank %d: %s\n", rank, error.what());
    return 1;
  }
  return 0;
}

// Waits for all children and ends the rest when one fails.
int collect(const std::vector<pid_t>& children) {
  int code = 0;
  for (size_t left = children.size(); left > 0; left--) {
    int status = 0;
    wait(&status);
    if (status == 0 || code != 0) continue;
    code = 1;
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || atoi(argv[1]) < 1 || atoi(argv[2]) < 4 || atoi(argv[3]) < 1) {
    fprintf(stderr, "usage: %s RANKS BYTES ITERATIONS\n", argv[0]);
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  std::string directory = "/tmp/hostccl-compare-XXXXXX";
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mkdtemp(&directory[0]) == nullptr) return 1;
  Shared* const shared = new (memory) Shared();
  std::vector<pid_t> children;
  for (int rank = 0; rank < atoi(argv[1]); rank++) {
    const pid_t child = fork();
    if (child == 0) {
      exit(runRank(rank, atoi(argv[1]), strtoull(argv[2], nullptr, 10), atoi(argv[3]), *shared, directory));
    }
    children.push_back(child);
  }
  const int code = collect(children);
  const std::string clean = "rm -rf " + directory;
  return system(clean.c_str()) == 0 ? code : 1;
}
