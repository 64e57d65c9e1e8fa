/** One tab of this browser looks at the services for all: requests of several would wait for each other. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";

const LOCK = "rangemaker.operator";

/** Whether this tab is the one that looks: the last that showed the view, or the next once that is closed. */
export function followTurn(isShown: ReadonlySignal<boolean>): ReadonlySignal<boolean> {
  const isOn = signal(false);
  // Browsers have no locks for pages without a certificate.
  const locks: LockManager | undefined = navigator.locks;
  let isWaiting = false;
  let last = {}; // the request that was granted last
  const request = (steal: boolean) => {
    if (!steal && isWaiting) return;
    isWaiting ||= !steal;
    const own = {};
    locks.request(LOCK, { steal }, () => {
      isWaiting &&= steal;
      [last, isOn.value] = [own, true];
      return new Promise<never>(() => {}); // until the tab is closed
    }).catch(() => {
      if (own !== last) return; // this tab has taken it from itself
      isOn.value = false;
      request(false);
    });
  };
  if (locks === undefined) isOn.value = true;
  else effect(() => request(isShown.value && !isOn.peek()));
  return isOn;
}
