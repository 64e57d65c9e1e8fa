import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type Address,
  type Clock,
  RangemakerClient,
  type Thesis,
  type Wallet,
} from "@rangemaker/client";
import type { PageConfig } from "../../page_config.ts";
import { PendingBets } from "./pending_bets.ts";
import { Portfolio } from "./portfolio.ts";
import {
  type InjectedWallet,
  makeDevelopmentKey,
  onAccountsChanged,
  storedDevelopmentKey,
  type TextStore,
} from "./wallets.ts";

/** The user who bets. */
export interface User {
  address: Address;
  /** The signer, in words. */
  walletName: string;
  /** The key was made in this browser, for tests. */
  isDevelopmentKey: boolean;
  client: RangemakerClient;
  portfolio: Portfolio;
}

export interface SessionOptions {
  config: PageConfig;
  clock: Clock;
  store: TextStore;
  injected: ReadonlySignal<readonly InjectedWallet[]>;
  onSettled(thesis: Thesis): void;
}

/** The user of the page: nobody yet, a key of this browser, or a wallet. */
export class Session {
  readonly user: Signal<User | undefined> = signal(undefined);
  readonly pending: PendingBets;
  readonly injected: ReadonlySignal<readonly InjectedWallet[]>;
  readonly #options: SessionOptions;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.injected = options.injected;
    this.pending = new PendingBets(options.store);
  }

  /** Keys are made for a chain that is marked as one for tests, and for no other. */
  get mayMakeKeys(): boolean {
    return this.#options.config.isDevelopmentChain;
  }

  /** Whether this browser has such a key. */
  get hasKey(): boolean {
    const { store, config } = this.#options;
    return this.mayMakeKeys && storedDevelopmentKey(store, config.chainId) !== undefined;
  }

  /** Goes on with the key that this browser made earlier. */
  restore(): void {
    if (!this.mayMakeKeys) return;
    const { store, config } = this.#options;
    const account = storedDevelopmentKey(store, config.chainId);
    if (account !== undefined) {
      this.#enter(account, account.address, "Test key in this browser", true);
    }
  }

  /** Makes a key for tests, or takes the one that this browser has. */
  useDevelopmentKey(): void {
    if (!this.mayMakeKeys) throw new TypeError("Keys are made for development chains only");
    const { store, config } = this.#options;
    const account = storedDevelopmentKey(store, config.chainId) ??
      makeDevelopmentKey(store, config.chainId);
    this.#enter(account, account.address, "Test key in this browser", true);
  }

  /**
   * Connects a wallet; it may ask the user.
   *
   * @throws {WalletError} If it shares no account.
   */
  async connect(wallet: InjectedWallet): Promise<void> {
    const enter = async () => {
      const client = this.#clientOf(wallet.provider);
      this.#enter(wallet.provider, await client.address(), wallet.name, false);
    };
    await enter();
    onAccountsChanged(wallet.provider, () => {
      if (this.user.value?.walletName === wallet.name) void enter().catch(() => this.leave());
    });
  }

  /** Disconnects; a key stays in the browser. */
  leave(): void {
    this.user.value?.portfolio.close();
    this.user.value = undefined;
  }

  /** Reads everything of the user anew: the chain is another one. */
  restart(): void {
    const user = this.user.value;
    if (user === undefined) return;
    user.portfolio.close();
    this.user.value = { ...user, portfolio: this.#portfolioOf(user.client, user.address) };
  }

  #enter(wallet: Wallet, address: Address, walletName: string, isDevelopmentKey: boolean): void {
    this.leave();
    const client = this.#clientOf(wallet);
    const portfolio = this.#portfolioOf(client, address);
    this.user.value = { address, walletName, isDevelopmentKey, client, portfolio };
  }

  #clientOf(wallet: Wallet): RangemakerClient {
    const { urls, chainId, markets } = this.#options.config;
    return new RangemakerClient({ urls, chainId, markets, wallet });
  }

  #portfolioOf(client: RangemakerClient, user: Address): Portfolio {
    const { clock, onSettled } = this.#options;
    const portfolio = new Portfolio({ client, user, clock, pending: this.pending, onSettled });
    portfolio.start();
    return portfolio;
  }
}
