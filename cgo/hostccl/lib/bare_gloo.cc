#include "bare_gloo.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>

#include "interface.h"

namespace hostccl {

std::shared_ptr<gloo::Context> connectBareGloo(int rank, int ranks, const std::string& directory) {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = addressText(chooseInterface().address);
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(directory);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  return context;
}

void bareAllReduce(const std::shared_ptr<gloo::Context>& context, const std::vector<float>& send,
                   std::vector<float>& recv) {
  gloo::AllreduceOptions options(context);
  options.setInput(const_cast<float*>(send.data()), send.size());
  options.setOutput(recv.data(), recv.size());
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

}  // namespace hostccl
