/** Wallets of the user: wallets of browser extensions, and a key made for development chains. */
import { bytesToHex } from "@noble/hashes/utils";
import { type Signal, signal } from "@preact/signals";
import * as z from "zod/mini";
import { type Address, type Hex, isProvider, type ProviderWallet } from "@rangemaker/client";
import { addressSchema } from "../../../../lib/protocol/scalars.ts";

/** A wallet that the browser offers. */
export interface InjectedWallet {
  /** Its reverse domain name, which stays the same after a reload; otherwise an id of this page. */
  id: string;
  name: string;
  provider: ProviderWallet;
}

const announcementSchema = z.object({
  info: z.object({
    uuid: z.string(),
    name: z.string().check(z.minLength(1)),
    rdns: z.optional(z.string()),
  }),
  provider: z.custom<ProviderWallet>(isProvider),
});

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
    const own = info.rdns ?? info.uuid;
    const others = wallets.value.filter(({ id }) => id !== own && id !== "legacy");
    wallets.value = [...others, { id: own, name: info.name, provider }];
  });
  target.dispatchEvent(new Event("eip6963:requestProvider"));
  return wallets;
}

/** Receives what a wallet reports: its chain, and its accounts, one of which is in use. */
interface WalletHandlers {
  onAccounts(accounts: readonly Address[]): void;
  onChain(chainId: number): void;
}

/** Code of EIP-1193: the wallet has lost its node, but keeps its accounts. */
const RETRYING = 1013;

/** In EIP-55 form: some wallets report another one. */
const accountsSchema = z.catch(z.array(addressSchema), []);
const chainSchema = z.coerce.number().check(z.int(), z.positive());

/**
 * Follows the account and the chain of a wallet that reports them.
 *
 * @param signal Stops following.
 */
export function followWallet(
  provider: ProviderWallet,
  { onAccounts, onChain }: WalletHandlers,
  signal: AbortSignal,
): void {
  const call = (method: "on" | "removeListener", event: string, listener: unknown) => {
    const found: unknown = Reflect.get(provider, method);
    try {
      if (typeof found === "function") found.call(provider, event, listener);
    } catch {
      // it does not report this
    }
  };
  const listeners = {
    accountsChanged: (accounts: unknown) => onAccounts(accountsSchema.parse(accounts)),
    chainChanged: (id: unknown) => onChain(chainSchema.safeParse(id).data ?? 0),
    disconnect(reason: unknown) {
      const code = typeof reason === "object" && reason && Reflect.get(reason, "code");
      if (code !== RETRYING) onAccounts([]);
    },
  };
  for (const [event, tell] of Object.entries(listeners)) {
    const listener = (news: unknown) => signal.aborted || tell(news); // some wallets remove none
    call("on", event, listener);
    signal.addEventListener("abort", () => call("removeListener", event, listener));
  }
}

/** Asks a wallet for what it answers without a prompt; undefined if it fails in any way. */
async function tryRequest(
  provider: ProviderWallet,
  method: string,
  params?: unknown,
): Promise<unknown> {
  try {
    return await provider.request(params === undefined ? { method } : { method, params });
  } catch {
    return undefined; // the user can still connect it, or has left it
  }
}

/** The accounts that a wallet already shares with this page. Never prompts the user. */
export async function sharedAccounts(provider: ProviderWallet): Promise<readonly Address[]> {
  return accountsSchema.parse(await tryRequest(provider, "eth_accounts"));
}

/** The chain that a wallet is on; undefined if it does not report it. */
export async function readChainId(provider: ProviderWallet): Promise<number | undefined> {
  return chainSchema.safeParse(await tryRequest(provider, "eth_chainId")).data;
}

/** Revokes the page's access to the accounts: many wallets do not support it. */
export function revokeAccounts(provider: ProviderWallet): void {
  void tryRequest(provider, "wallet_revokePermissions", [{ eth_accounts: {} }]);
}

export type TextStore = Pick<Storage, "getItem" | "setItem">;

const keySchema = z.custom<Hex>((value) =>
  typeof value === "string" && /^0x[0-9a-f]{64}$/.test(value)
);

/** The development key that this browser made earlier, if any. */
export function storedDevelopmentKey(store: TextStore, chainId: number): Hex | undefined {
  return keySchema.safeParse(store.getItem(storageKeyOf(chainId))).data;
}

/** Makes a development key and stores it in this browser: for development chains only. */
export function createDevelopmentKey(store: TextStore, chainId: number): Hex {
  const key: Hex = `0x${bytesToHex(crypto.getRandomValues(new Uint8Array(32)))}`;
  store.setItem(storageKeyOf(chainId), key);
  return key;
}

function storageKeyOf(chainId: number): string {
  return `rangemaker.development-key.${chainId}`;
}
