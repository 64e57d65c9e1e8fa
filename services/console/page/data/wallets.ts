/** Wallets of the user: those that browser extensions announce, and a key made for tests. */
import { type Signal, signal } from "@preact/signals";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import type { AccountWallet, ProviderWallet } from "@rangemaker/client";

/** A wallet that the browser offers. */
export interface InjectedWallet {
  /** Unique among the announced ones. */
  id: string;
  name: string;
  provider: ProviderWallet;
}

const announcementSchema = z.object({
  info: z.object({ uuid: z.string(), name: z.string().min(1) }),
  provider: z.custom<ProviderWallet>(isProvider),
});

function isProvider(value: unknown): value is ProviderWallet {
  return typeof value === "object" && value !== null && "request" in value &&
    typeof value.request === "function";
}

/**
 * The wallets of this browser (EIP-6963), as they announce themselves; `window.ethereum` if none does.
 */
export function watchInjectedWallets(target: EventTarget): Signal<readonly InjectedWallet[]> {
  const legacy: unknown = Reflect.get(target, "ethereum");
  const wallets = signal<readonly InjectedWallet[]>(
    isProvider(legacy) ? [{ id: "legacy", name: "Browser wallet", provider: legacy }] : [],
  );
  target.addEventListener("eip6963:announceProvider", (event) => {
    const parsed = announcementSchema.safeParse(Reflect.get(event, "detail"));
    if (!parsed.success) return;
    const { info, provider } = parsed.data;
    const others = wallets.value.filter(({ id }) => id !== info.uuid && id !== "legacy");
    wallets.value = [...others, { id: info.uuid, name: info.name, provider }];
  });
  target.dispatchEvent(new Event("eip6963:requestProvider"));
  return wallets;
}

/** Calls back when the user chooses another account in the wallet. */
export function onAccountsChanged(provider: ProviderWallet, changed: () => void): void {
  const on: unknown = Reflect.get(provider, "on");
  if (typeof on === "function") on.call(provider, "accountsChanged", changed);
}

export type TextStore = Pick<Storage, "getItem" | "setItem">;

const keySchema = z.custom<`0x${string}`>((value) =>
  typeof value === "string" && /^0x[0-9a-f]{64}$/.test(value)
);

/** The key for tests that this browser made earlier, if any. */
export function storedDevelopmentKey(store: TextStore, chainId: number): AccountWallet | undefined {
  const parsed = keySchema.safeParse(store.getItem(placeOf(chainId)));
  return parsed.success ? privateKeyToAccount(parsed.data) : undefined;
}

/** Makes a key for tests and keeps it in this browser: for development chains only. */
export function makeDevelopmentKey(store: TextStore, chainId: number): AccountWallet {
  const key = generatePrivateKey();
  store.setItem(placeOf(chainId), key);
  return privateKeyToAccount(key);
}

function placeOf(chainId: number): string {
  return `rangemaker.development-key.${chainId}`;
}
