import { Gauge, Registry } from "prom-client";

/**
 * Creates a registry with process metrics. Each service has its own, so that several can run in one
 * process; they are known by the same start time.
 */
export function createRegistry(): Registry {
  const registry = new Registry();
  new Gauge({
    name: "process_start_time_seconds",
    help: "Start time of the process since the Unix epoch.",
    registers: [registry],
  }).set(performance.timeOrigin / 1000);
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Resident memory of the process.",
    registers: [registry],
    collect() {
      this.set(Deno.memoryUsage().rss);
    },
  });
  new Gauge({
    name: "process_heap_used_bytes",
    help: "JavaScript heap in use.",
    registers: [registry],
    collect() {
      this.set(Deno.memoryUsage().heapUsed);
    },
  });
  return registry;
}
