/** One tab of this browser looks at the services for all: requests of several would wait for each other. */
import { type Signal, signal } from "@preact/signals";

const LOCK = "rangemaker.operator";

/** Whether this tab is the one that looks: the last that was seen, or the next once that is closed. */
export function followTurn(): Signal<boolean> {
  const isOn = signal(false);
  // Browsers have no locks for pages without a certificate.
  const locks: LockManager | undefined = navigator.locks;
  if (locks === undefined) {
    isOn.value = true;
    return isOn;
  }
  let isQueued = false;
  const request = (steal: boolean) => {
    if (!steal && isQueued) return;
    if (!steal) isQueued = true;
    locks.request(LOCK, { steal }, () => {
      if (!steal) isQueued = false;
      isOn.value = true;
      return new Promise<never>(() => {}); // until the tab is closed
    }).catch(() => {
      isOn.value = false; // another tab has taken it
      request(false);
    });
  };
  const follow = () => document.hidden ? request(false) : isOn.value || request(true);
  document.addEventListener("visibilitychange", follow);
  follow();
  return isOn;
}
