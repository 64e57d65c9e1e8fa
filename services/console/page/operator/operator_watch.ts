/** What the operator's view shows: services, their problems, and the sources of prices. */
import { computed, effect, type Signal, signal, untracked } from "@preact/signals";
import { systemClock } from "@rangemaker/client";
import { isAnswered, Poll } from "../data/http.ts";
import type { PageModel } from "../data/page_model.ts";
import {
  isSilent,
  ProvidersWatch,
  type ServiceName,
  ServiceWatch,
  unknownOf,
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
  const isAnyAnswered = (sinceMs: number) =>
    watches.some(({ state: { value: { presence, lastAnswerAtMs = 0 } } }) =>
      presence === "forbidden" || lastAnswerAtMs > sinceMs
    );
  // The keys of this very record.
  const watches: readonly ServiceWatch[] = (Object.keys(SERVICES) as ServiceName[]).flatMap(
    (name) => {
      const url = urls[name];
      return url === undefined ? [] : [new ServiceWatch(name, url, systemClock, isAnyAnswered)];
    },
  );
  const sources = urls.oracle === undefined
    ? undefined
    : new ProvidersWatch(urls.oracle, systemClock);
  const { isOffline } = model.feed;
  const latest = computed(() => watches.map(({ state }) => state.value));
  // If nothing answers, nothing is known of the services: it may be this page's own connection.
  const areSilent = computed(() => isOffline.value || latest.value.every(isSilent));
  const isServed = signal(false);
  const server = new Poll(systemClock, async (signal) => {
    isServed.value = await isAnswered("/health", signal);
  });
  /** What answers, if no service does. */
  const cutOff = computed(() =>
    areSilent.value ? isServed.value ? "page" as const : "nothing" as const : undefined
  );
  const states = computed(() => areSilent.value ? latest.value.map(unknownOf) : latest.value);
  const seen: Signal<Seen> = signal({ findings: [], firstSeen: new Map() });
  const start = () => {
    for (const watch of watches) watch.poll.start();
    sources?.start();
  };
  const stop = () => {
    for (const watch of watches) watch.forget();
    sources?.poll.stop();
  };
  const isOpen = signal(false);
  const isAsking = computed(() => isOpen.value && !isOffline.value);
  effect(() => {
    const change = isAsking.value ? start : stop;
    untracked(change); // it reads what the polls have found
  });
  effect(() => {
    const asks = isAsking.value && areSilent.value;
    untracked(() => {
      isServed.value = false;
      if (asks) server.start();
      else server.stop();
    });
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
  return { states, sources, seen, isOpen, cutOff };
}

export type OperatorWatch = ReturnType<typeof watchOperator>;
