import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type Address,
  type ClientOptions,
  type Clock,
  RangemakerClient,
  type Wallet,
} from "@rangemaker/client";
import { messageOf } from "../../../../lib/errors.ts";
import type { PageConfig } from "../../page_config.ts";
import { shortAddress } from "../parts/format.ts";
import { explain } from "./explain.ts";
import { accountOf } from "./key_account.ts";
import { PendingBets } from "./pending_bets.ts";
import { Portfolio } from "./portfolio.ts";
import {
  createDevelopmentKey,
  followWallet,
  type InjectedWallet,
  readChainId,
  revokeAccounts,
  sharedAccounts,
  storedDevelopmentKey,
  type TextStore,
} from "./wallets.ts";

/** The user who bets. */
export interface User {
  address: Address;
  /** Undefined for the key of this browser, which is for development chains. */
  wallet: InjectedWallet | undefined;
  /** The chain that the wallet is on; undefined for a key, which signs for any chain. */
  walletChainId: Signal<number | undefined>;
  client: RangemakerClient;
  portfolio: Portfolio;
}

/** What the user signs with, in words. */
export const walletNameOf = ({ wallet }: Pick<User, "wallet">) =>
  wallet?.name ?? "Test key in this browser";

interface SessionOptions extends Pick<ClientOptions, "connect"> {
  config: PageConfig;
  clock: Clock;
  serverClock: Pick<Clock, "now">;
  store: TextStore;
  /** The window, which reports writes of other tabs. */
  tabs: EventTarget;
  injected: ReadonlySignal<readonly InjectedWallet[]>;
  announce(text: string): void;
}

/** Storage key of the last account: a wallet's id, {@link DEVELOPMENT_KEY}, or none. */
const LAST_ACCOUNT_KEY = "rangemaker.account";

/** The stored value that stands for the key of this browser. */
const DEVELOPMENT_KEY = "development-key";

const LEFT = "You have left the account.";

/** The user of the page: nobody, a key of this browser, or a wallet. */
export class Session {
  readonly user: Signal<User | undefined> = signal(undefined);
  readonly injected: ReadonlySignal<readonly InjectedWallet[]>;
  readonly #options: SessionOptions;
  readonly #pending: PendingBets;
  /** Aborted when another account is used, or none. */
  #using = new AbortController();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.injected = options.injected;
    this.#pending = new PendingBets(options.store, options.config.chainId, options.tabs);
    options.tabs.addEventListener("storage", (event) => {
      if (Reflect.get(event, "key") !== LAST_ACCOUNT_KEY) return;
      const user = this.user.peek();
      if (options.store.getItem(LAST_ACCOUNT_KEY) !== "") return user ?? this.restore();
      this.#signOut();
      if (user !== undefined) options.announce(LEFT);
    });
  }

  /** Whether this browser has such a key. */
  get hasKey(): boolean {
    return this.#key !== undefined;
  }

  get #key() {
    const { store, config } = this.#options;
    return config.isDevelopmentChain ? storedDevelopmentKey(store, config.chainId) : undefined;
  }

  /** Restores the last account. No wallet shows a prompt for that. */
  restore(): void {
    const last = this.#options.store.getItem(LAST_ACCOUNT_KEY) ?? DEVELOPMENT_KEY;
    if (last === DEVELOPMENT_KEY && this.hasKey) return this.useDevelopmentKey();
    const signal = this.#beginUse();
    const stop = effect(() => {
      const wallet = this.injected.value.find(({ id }) => id === last);
      if (wallet === undefined) return;
      void sharedAccounts(wallet.provider).then(([address]) => {
        if (address !== undefined && !signal.aborted) this.#useWallet(wallet, address);
      });
    });
    signal.addEventListener("abort", stop);
  }

  /** Uses this browser's key, or makes one. @throws If a new key cannot be stored. */
  useDevelopmentKey(): void {
    const { store, config } = this.#options;
    if (!config.isDevelopmentChain) {
      throw new TypeError("Keys are made for development chains only");
    }
    const account = accountOf(this.#key ?? createDevelopmentKey(store, config.chainId));
    this.#remember(DEVELOPMENT_KEY);
    this.#signIn(account, account.address);
  }

  /**
   * Connects a wallet, which may prompt the user.
   *
   * @throws {WalletError} If it shares no account.
   */
  async connect(wallet: InjectedWallet): Promise<void> {
    this.#useWallet(wallet, await this.#clientOf(wallet.provider).address());
    this.#remember(wallet.id);
  }

  /** @returns Aborted when another account is used than the one that begins now, or none. */
  #beginUse(): AbortSignal {
    this.#using.abort();
    this.#using = new AbortController();
    return this.#using.signal;
  }

  /** Stores the account in use, for the next visit and for other tabs. */
  #remember(account: string): void {
    try {
      this.#options.store.setItem(LAST_ACCOUNT_KEY, account);
    } catch (thrown) { // the store is full: after a reload, the user opens the account again
      console.info(`The account in use was not stored: ${messageOf(thrown)}`);
    }
  }

  /** Disconnects, and stays disconnected after a reload; a key stays in the browser. */
  leave(): void {
    const wallet = this.user.value?.wallet;
    if (wallet !== undefined) revokeAccounts(wallet.provider);
    this.#signOut();
    this.#remember("");
    this.#options.announce(LEFT);
  }

  /** Switches the wallet to the chain of the bets. */
  switchChain(): void {
    const { config: { chainId }, announce } = this.#options;
    const user = this.user.value;
    user?.client.switchChain().then(
      () => {
        user.walletChainId.value = chainId;
        announce("The wallet is on the right chain now.");
      },
      (thrown) => announce(explain(thrown).text),
    );
  }

  /** Reads all data of the user again, because the chain has changed. */
  restart(): void {
    const user = this.user.value;
    if (user === undefined) return;
    user.portfolio.close();
    this.user.value = { ...user, portfolio: this.#portfolioOf(user.client, user.address) };
  }

  #useWallet(wallet: InjectedWallet, address: Address): void {
    const { provider, name } = wallet;
    const { announce } = this.#options;
    const request: typeof provider.request = (call) => provider.request(call);
    const user = this.#signIn({ request, account: { address } }, address, wallet);
    followWallet(provider, {
      onAccounts: ([next]) => {
        if (next === undefined) {
          this.#signOut();
          announce(`${name} no longer shares your account. Connect it to see your bets again.`);
        } else if (next !== address) {
          this.#useWallet(wallet, next);
          announce(`${name} uses another account now: ${shortAddress(next)}.`);
        }
      },
      onChain: (chainId) => user.walletChainId.value = chainId,
    }, this.#beginUse());
    void readChainId(provider).then((chainId) => user.walletChainId.value ??= chainId);
  }

  #signOut(): void {
    this.#using.abort();
    this.user.value?.portfolio.close();
    this.user.value = undefined;
  }

  #signIn(signer: Wallet, address: Address, wallet?: InjectedWallet): User {
    this.#signOut();
    const client = this.#clientOf(signer);
    const portfolio = this.#portfolioOf(client, address);
    const user = { address, wallet, walletChainId: signal(undefined), client, portfolio };
    this.user.value = user;
    return user;
  }

  #clientOf(wallet: Wallet): RangemakerClient {
    const { config: { urls, chainId, markets }, serverClock, connect } = this.#options;
    // Deadlines do not depend on the device's clock.
    return new RangemakerClient({ urls, chainId, markets, wallet, connect, clock: serverClock });
  }

  #portfolioOf(client: RangemakerClient, user: Address): Portfolio {
    const portfolio = new Portfolio({ ...this.#options, client, user, pending: this.#pending });
    portfolio.start();
    return portfolio;
  }
}
