// The finish times of transfers that share links, by SimGrid.
//
// Standard input is one case: a row per transfer, with the columns of
// internal/tools/flows/testdata/simgrid.csv except the last. Standard output is the last column,
// the end of each transfer in seconds.
#include <simgrid/s4u.hpp>

#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

struct Transfer {
  int number, cell;
  double server, changes, then, limit, own;
  unsigned long long bytes;
  double begins, ends = -1;
};

// Bandwidth in bytes per second.
static double bandwidth(double mbps) { return mbps * 1e6 / 8; }

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  // Pure max-min fairness: no windows, no weights by round-trip time, no bandwidth for
  // acknowledgments and protocol headers.
  for (const char* setting :
       {"network/model:CM02", "network/solver:maxmin", "network/optim:Full", "network/TCP-gamma:0",
        "network/weight-S:0", "network/latency-factor:1", "network/bandwidth-factor:1", "network/crosstraffic:0",
        "maxmin/precision:1e-12", "surf/precision:1e-12"})
    sg::Engine::set_config(setting);

  std::deque<Transfer> transfers; // actors hold on to them
  char line[512];
  while (std::fgets(line, sizeof line, stdin)) {
    Transfer t;
    if (std::sscanf(line, "%d,%lf,%lf,%lf,%d,%lf,%lf,%llu,%lf", &t.number, &t.server, &t.changes, &t.then, &t.cell,
                    &t.limit, &t.own, &t.bytes, &t.begins) != 9) {
      std::fprintf(stderr, "not a transfer: %s", line);
      return 1;
    }
    transfers.push_back(t);
  }
  if (transfers.empty()) {
    std::fprintf(stderr, "no transfers\n");
    return 1;
  }

  auto* zone = sg::create_full_zone("tree");
  auto* server = zone->create_host("server", 1e9);
  auto* access = zone->create_link("access", bandwidth(transfers[0].server));
  std::map<int, sg::Link*> cells;
  std::vector<sg::Host*> devices;
  for (const auto& t : transfers) {
    const auto name = "device" + std::to_string(devices.size());
    auto* device = zone->create_host(name, 1e9);
    std::vector<sg::LinkInRoute> route{sg::LinkInRoute(zone->create_link(name + "-link", bandwidth(t.own)))};
    if (t.cell >= 0) {
      auto& cell = cells[t.cell];
      if (!cell)
        cell = zone->create_link("cell" + std::to_string(t.cell), bandwidth(t.limit));
      route.emplace_back(cell);
    }
    route.emplace_back(access);
    zone->add_route(device->get_netpoint(), server->get_netpoint(), nullptr, nullptr, route, false);
    devices.push_back(device);
  }
  zone->seal();

  for (size_t i = 0; i < transfers.size(); i++) {
    auto* t = &transfers[i];
    auto* device = devices[i];
    sg::Actor::create("transfer", device, [t, device, server] {
      sg::this_actor::sleep_until(t->begins);
      sg::Comm::sendto(device, server, t->bytes);
      t->ends = sg::Engine::get_clock();
    });
  }
  sg::Actor::create("rush hour", server, [&transfers, access] {
    sg::this_actor::sleep_until(transfers[0].changes);
    access->set_bandwidth(bandwidth(transfers[0].then));
  });
  engine.run();
  for (const auto& t : transfers)
    std::printf("%.15g\n", t.ends);
  return 0;
}
