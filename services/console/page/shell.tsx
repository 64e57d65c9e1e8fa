import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { PageModel } from "./data/page_model.ts";
import { MAKER_AWAY } from "./data/maker_status.ts";
import { walletNameOf } from "./data/session.ts";
import { formatUsdc, shortAddress } from "./parts/format.ts";
import { Messages } from "./messages.tsx";
import type { View } from "./parts/view.tsx";

type Views = readonly [View, ...View[]];

/** The frame of every view: name, tabs, account and problems. */
export function Shell({ model, views }: { model: PageModel; views: Views }) {
  const view = useHashView(views);
  const body = useRef<HTMLElement>(null);
  const before = useRef(view);
  useEffect(() => body.current ? keepFocus(body.current) : undefined, []);
  useEffect(() => {
    document.title = `${view.label} · rangemaker`;
    if (before.current !== view) {
      body.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    before.current = view;
  }, [view]);
  return (
    <>
      <button type="button" class="skip" onClick={() => body.current?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <div class="brand">
          <img src="/icon.svg" alt="" width="28" height="28" />
          <strong>rangemaker</strong>
        </div>
        <Tabs views={views} current={view} />
        <Connection model={model} />
        <AccountChip model={model} />
      </header>
      <main ref={body} aria-label={view.label} tabIndex={-1}>
        <h1 class="spoken">{view.label}</h1>
        <view.Body />
      </main>
      <Messages model={model} />
      <footer class="foot row note">
        <span>rangemaker {model.config.version}</span>
        {model.config.isDevelopmentChain && (
          <span>Development chain {model.config.chainId}: its money is worth nothing</span>
        )}
      </footer>
    </>
  );
}

/** If what is focused is removed, the focus stays near it, or in the view: the next Tab goes on there. */
function keepFocus(main: HTMLElement): () => void {
  let focused: Element | null = null;
  let around: HTMLElement[] = [];
  const remember = ({ target }: FocusEvent) => {
    focused = target instanceof Element ? target : null;
    around = [];
    for (let one = focused?.parentElement; one; one = one.parentElement) {
      if (one.hasAttribute("tabindex")) around.push(one);
    }
  };
  const restore = () => {
    if (focused?.isConnected !== false) return;
    focused = null; // once: later, the user may have left it on purpose
    if (document.activeElement !== document.body) return;
    [...around, main].find((one) => one.isConnected)?.focus({ preventScroll: true });
  };
  // After the next step, which takes the focus itself.
  const observer = new MutationObserver(() => queueMicrotask(restore));
  document.addEventListener("focusin", remember);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("focusin", remember);
    observer.disconnect();
  };
}

function Tabs({ views, current }: { views: readonly View[]; current: View }) {
  return (
    <nav class="tabs" aria-label="Views">
      {views.map((view) => (
        <a
          key={view.id}
          href={`#${view.id}`}
          aria-current={view === current ? "page" : undefined}
        >
          {view.label}
        </a>
      ))}
    </nav>
  );
}

/** The view in the fragment of the address, or else the first one. */
function useHashView(views: Views): View {
  const hash = useSignal(location.hash);
  useEffect(() => {
    const changed = () => hash.value = location.hash;
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return views.find(({ id }) => hash.value.split("?")[0] === `#${id}`) ?? views[0];
}

/** The best state of all markets: one live market is enough to bet, if the maker answers. */
function Connection({ model }: { model: PageModel }) {
  const { feed: { states }, maker } = model;
  const state = (["fresh", "stale", "missing", "connecting", "away"] as const)
    .find((state) => states.includes(state)) ?? "connecting";
  const isMakerAway = state === "fresh" && maker.isAway.value;
  const wasMakerAway = useRef(isMakerAway);
  useEffect(() => {
    if (wasMakerAway.current === isMakerAway) return;
    wasMakerAway.current = isMakerAway;
    const text = isMakerAway ? MAKER_AWAY : "The maker answers.";
    if (state === "fresh") model.announce(text, { isSpoken: true });
  }, [isMakerAway]);
  if (isMakerAway) {
    return <span class="connection away">No quotes</span>;
  }
  // The chart says why.
  const text = state === "fresh" ? "Live" : state === "connecting" ? "Connecting" : "Not live";
  return <span class={`connection ${state}`}>{text}</span>;
}

/** The account in use and its balance. Leads to the account, below which the user's bets are. */
function AccountChip({ model }: { model: PageModel }) {
  const user = model.session.user.value;
  if (user === undefined) return null;
  const account = user.portfolio.account.value;
  return (
    <a
      class="account-chip"
      href="#trade"
      title={`${walletNameOf(user)}: ${user.address}`}
      onClick={() => document.querySelector("[data-account]")?.scrollIntoView()}
    >
      <span class="spoken">Balance</span>
      <strong>{formatUsdc(account?.balance)}</strong>
      <span class="spoken">Account</span>
      <code>{shortAddress(user.address)}</code>
    </a>
  );
}
