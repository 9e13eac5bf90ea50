// half-done send|receive
//
// Two processes, one message that is larger than all socket buffers. The peer
// is stopped in the middle, so that Gloo is left with a half-written send or
// a half-read receive, whose waiter no error of Gloo's wakes. Prints the
// milliseconds that the waiter needs to return after interrupt.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../failure.h"
#include "../guarded.h"
#include "../interface.h"
#include "../ticker.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBytes = size_t{64} << 20;
constexpr uint64_t kSlot = 1;
constexpr auto kTimeout = std::chrono::seconds(20);

// What both processes see: their addresses and the first process's buffer.
struct Shared {
  std::atomic<int> published;
  char address[2][256];
  size_t length[2];
};

struct Side {
  std::shared_ptr<gloo::transport::Device> device;
  std::shared_ptr<hostccl::GuardedContext> context;
};

Side connect(int rank, Shared& shared) {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.1";
  Side side;
  side.device = gloo::transport::tcp::CreateDevice(attributes);
  auto inner = side.device->createContext(rank, 2);
  inner->setTimeout(kTimeout);
  side.context = std::make_shared<hostccl::GuardedContext>(std::move(inner));
  const auto bytes = side.context->createPair(1 - rank)->address().bytes();
  memcpy(shared.address[rank], bytes.data(), bytes.size());
  shared.length[rank] = bytes.size();
  shared.published++;
  while (shared.published < 2) usleep(1000);
  const char* peer = shared.address[1 - rank];
  side.context->getPair(1 - rank)->connect({peer, peer + shared.length[1 - rank]});
  return side;
}

// The whole message, from 0 to 1 or from 1 to 0.
void transfer(int rank, bool sends, hostccl::GuardedContext& context, std::vector<char>& memory) {
  const auto buffer = context.createUnboundBuffer(memory.data(), memory.size());
  if (sends) {
    buffer->send(1 - rank, kSlot);
    buffer->waitSend(nullptr, kTimeout);
  } else {
    buffer->recv(1 - rank, kSlot);
    buffer->waitRecv(nullptr, kTimeout);
  }
}

// A sender is stopped by the other side, a receiver stops itself, both when the first bytes have passed.
void peer(Shared& shared, bool sends) {
  const Side side = connect(1, shared);
  std::vector<char> memory(kBytes, sends ? 1 : 0);
  const auto buffer = side.context->createUnboundBuffer(memory.data(), memory.size());
  if (sends) {
    buffer->send(0, kSlot);
    pause();  // the parent stops us
  }
  buffer->recv(0, kSlot);
  while (reinterpret_cast<std::atomic<char>*>(memory.data())->load() == 0) {
  }
  raise(SIGSTOP);
}

int measure(pid_t child, Shared& shared, bool sends) {
  const Side side = connect(0, shared);
  std::vector<char> memory(kBytes, sends ? 1 : 0);
  std::atomic<bool> returned{false};
  std::thread waiter([&] {
    try {
      transfer(0, sends, *side.context, memory);
      fprintf(stderr, "half-done: the whole message passed\n");
      _exit(1);
    } catch (const hostccl::Failure&) {
      returned = true;
    }
  });
  if (!sends) {
    while (reinterpret_cast<std::atomic<char>*>(memory.data())->load() == 0) {
    }
    kill(child, SIGSTOP);
  }
  waitpid(child, nullptr, WUNTRACED);
  usleep(100000);  // what is on its way arrives; then nothing moves
  const bool waited = !returned;
  const auto start = Clock::now();
  side.context->interrupt();
  side.context->failPairs();
  waiter.join();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  printf("%lld\n", static_cast<long long>(took.count()));
  return waited ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const bool sends = strcmp(argv[1], "send") == 0;
  signal(SIGPIPE, SIG_IGN);
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Shared* const shared = new (memory) Shared();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    peer(*shared, !sends);
    return 0;
  }
  const int code = measure(child, *shared, sends);
  kill(child, SIGKILL);
  return code;
}
