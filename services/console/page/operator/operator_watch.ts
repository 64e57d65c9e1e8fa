/** What the operator's view shows: services, their problems, and the sources of prices. */
import { computed, effect, type Signal, signal, untracked } from "@preact/signals";
import { systemClock } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import {
  ProvidersWatch,
  type ServiceName,
  type ServiceState,
  ServiceWatch,
  unknownService,
} from "../data/service_watch.ts";
import { SERVICES } from "./causes.ts";
import { type Finding, type FirstSeen, firstSeenAfter } from "./finding.ts";
import { findingsOf } from "./problems.ts";

interface Seen {
  findings: readonly Finding[];
  firstSeen: FirstSeen;
}

/** Watches the services and finds their problems while `isOpen` is true. */
export function watchOperator(model: PageModel) {
  const { urls } = model.config;
  // The keys of this very record.
  const services = (Object.keys(SERVICES) as ServiceName[]).flatMap((name) => {
    const url = urls[name];
    return url === undefined ? [] : [unknownService(name, url)];
  });
  const watch = new ServiceWatch(services, systemClock);
  const sources = urls.oracle === undefined
    ? undefined
    : new ProvidersWatch(urls.oracle, systemClock);
  const { isOffline } = model.feed;
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
  const seen: Signal<Seen> = signal({ findings: [], firstSeen: new Map() });
  const start = () => {
    watch.poll.start();
    sources?.start();
  };
  const stop = () => {
    watch.forget();
    sources?.poll.stop();
  };
  const isOpen = signal(false);
  const isAsking = computed(() => isOpen.value && !isOffline.value);
  effect(() => {
    const change = isAsking.value ? start : stop;
    untracked(change); // it reads what the polls have found
  });
  // Browsers delay the polls of a hidden tab, so its prices may be old.
  document.addEventListener("visibilitychange", () => {
    if (isAsking.value) sources?.start();
  });
  // Of the last look that knew every service: what was present then may go on after a lost network.
  let firstSeen: FirstSeen = new Map();
  effect(() => {
    const findings = findingsOf(states.value);
    if (states.value.every(({ presence }) => presence !== "unknown")) {
      firstSeen = firstSeenAfter(firstSeen, states.value, findings, Date.now());
    }
    seen.value = { findings, firstSeen };
  });
  return { states, sources, seen, isOpen, isCutOff };
}

export type OperatorWatch = ReturnType<typeof watchOperator>;
