/** One tab of this browser polls the services for all: requests of several would block others. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";

const LOCK = "rangemaker.operator";

/** Whether this tab polls: the last one that showed the view, or the next after that closed. */
export function pollsInThisTab(isShown: ReadonlySignal<boolean>): ReadonlySignal<boolean> {
  const holdsLock = signal(false);
  // Browsers have no locks on insecure pages.
  const locks: LockManager | undefined = navigator.locks;
  let isWaiting = false;
  let newestGranted = {};
  const request = (steal: boolean) => {
    if (!steal && isWaiting) return;
    isWaiting ||= !steal;
    const own = {};
    locks.request(LOCK, { steal }, () => {
      isWaiting &&= steal;
      [newestGranted, holdsLock.value] = [own, true];
      return new Promise<never>(() => {}); // until the tab is closed
    }).catch(() => {
      if (own !== newestGranted) return; // a later request of this tab has the lock
      holdsLock.value = false;
      request(false);
    });
  };
  if (locks === undefined) holdsLock.value = true;
  else effect(() => request(isShown.value && !holdsLock.peek()));
  return holdsLock;
}
