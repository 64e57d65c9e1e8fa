/** What the operator's view shows: services, their problems, and the sources of prices. */
import { computed } from "@preact/signals";
import type { PageModel } from "../data/page_model.ts";
import {
  type ServiceName,
  type ServiceState,
  ServiceWatch,
  unknownService,
} from "../data/service_watch.ts";
import { SERVICES } from "./causes.ts";
import { type Look, nextLook } from "./finding.ts";
import { findingsOf } from "./problems.ts";

/** A watch of the services that are configured, and the problems that it finds. */
export function watchOperator(model: PageModel) {
  const { config: { urls }, feed: { isOffline }, serverClock } = model;
  // The keys of this very record.
  const services = (Object.keys(SERVICES) as ServiceName[]).flatMap((name) => {
    const url = urls[name];
    return url === undefined ? [] : [unknownService(name, url)];
  });
  const watch = new ServiceWatch(services, serverClock);
  // If nothing answers, nothing is known of the services: it may be this page's own connection.
  const isCutOff = computed(() =>
    isOffline.value ||
    watch.states.value.every(({ hasMissed, presence }) => hasMissed && presence !== "forbidden")
  );
  const states = computed((): readonly ServiceState[] =>
    isCutOff.value
      ? watch.states.value.map((state) => ({ ...state, presence: "unknown" }))
      : watch.states.value
  );
  // The last one that knew every service: what was present then may go on after a lost network.
  let last: Look = { findings: [], verdicts: [] };
  const look = computed(() => {
    const next = nextLook(last, states.value, findingsOf(states.value), serverClock.now());
    if (states.value.every(({ presence }) => presence !== "unknown")) last = next;
    return next;
  });
  return { services: watch, look, isCutOff };
}

export type OperatorWatch = ReturnType<typeof watchOperator>;
