/**
 * Signs for the user. Wallets are recognised by their shape, not by their class, so that any
 * version of viem or ethers fits, and two copies of it in one page do not matter.
 */
import * as z from "zod/mini";
import { messageOf } from "../errors.ts";
import {
  type Address,
  addressSchema,
  anySignatureSchema,
  type Hex,
  normalizeSignature,
  toQuantity,
} from "../protocol/scalars.ts";
import { DOMAIN_TYPE, type TypedData } from "../protocol/typed_data.ts";
import { WalletError } from "./errors.ts";
import { hashTypedData, recoverSigner } from "./typed_data.ts";

/** Signs without a prompt and on any chain, as viem's local accounts do. */
export interface AccountWallet {
  address: Address;
  signTypedData(typedData: TypedData): Promise<Hex>;
}

/** An EIP-1193 provider such as `window.ethereum`. */
export interface ProviderWallet {
  request(args: { method: string; params?: unknown }): Promise<unknown>;
}

/** A viem `WalletClient`: its account signs if it can, otherwise its provider is asked to. */
export interface ClientWallet extends ProviderWallet {
  account?: { address: Address } | undefined;
}

/** A signer of ethers 6: a `Wallet` with a key, or the signer of a `BrowserProvider`. */
export interface EthersWallet {
  getAddress(): Promise<string>;
  signTypedData(
    domain: TypedData["domain"],
    types: TypedData["types"],
    value: TypedData["message"],
  ): Promise<string>;
}

/** Anything that can sign for the user. */
export type Wallet = AccountWallet | ClientWallet | ProviderWallet | EthersWallet;

/** How `wallet_addEthereumChain` introduces the chain to the user. */
export interface ChainDescription {
  chainName: string;
  /** Wallets accept `http:` for localhost and 127.0.0.1 only. */
  rpcUrls: string[];
  nativeCurrency: { name: string; symbol: string; decimals: number };
}

/** A wallet of any kind. */
export interface WalletAdapter {
  /** The account that signs; may ask the user to connect. */
  address(): Promise<Address>;
  sign(address: Address, typedData: TypedData): Promise<Hex>;
  /** Makes the wallet use a chain; does nothing if it signs for any. */
  switchChain(chainId: number, chain: ChainDescription): Promise<void>;
}

/**
 * Recognises a wallet by its shape.
 *
 * @throws {WalletError} `UNSUPPORTED_WALLET`
 */
export function adaptWallet(wallet: Wallet): WalletAdapter {
  if (isEthersSigner(wallet)) return adaptEthersSigner(wallet);
  if (isAccount(wallet)) return adaptAccount(wallet);
  if (!isProvider(wallet)) {
    // The value is never shown: a caller may have passed a private key.
    const message =
      "Not a wallet: expected a viem account or WalletClient, a signer of ethers 6, " +
      "or an EIP-1193 provider such as window.ethereum";
    throw new WalletError("UNSUPPORTED_WALLET", message);
  }
  const account = "account" in wallet ? wallet.account : undefined;
  return isAccount(account) ? adaptAccount(account) : new ProviderAdapter(wallet, account);
}

/**
 * Whether a value is an EIP-1193 provider, such as `window.ethereum`.
 *
 * @example
 * ```ts
 * const shown = isProvider(window.ethereum) ? "Connect your wallet" : "Install a wallet";
 * ```
 */
export function isProvider(value: unknown): value is ProviderWallet {
  return typeof value === "object" && value !== null && "request" in value &&
    typeof value.request === "function";
}

function isEthersSigner(value: unknown): value is EthersWallet {
  return typeof value === "object" && value !== null &&
    "getAddress" in value && typeof value.getAddress === "function" &&
    "signTypedData" in value && typeof value.signTypedData === "function";
}

function isAccount(value: unknown): value is AccountWallet {
  return typeof value === "object" && value !== null && "address" in value &&
    "signTypedData" in value && typeof value.signTypedData === "function";
}

function adaptAccount(account: AccountWallet): WalletAdapter {
  return {
    address: () => Promise.resolve(addressSchema.parse(account.address)),
    async sign(address, typedData) {
      const signed = await callWallet("sign", () => account.signTypedData(typedData));
      return await requireSignature(address, typedData, signed);
    },
    switchChain: () => Promise.resolve(),
  };
}

function adaptEthersSigner(signer: EthersWallet): WalletAdapter {
  const provider = providerOf(signer);
  if (provider !== undefined) {
    const { address } = z.object({ address: addressSchema }).parse(signer);
    return new ProviderAdapter(provider, { address });
  }
  return {
    address: async () =>
      addressSchema.parse(await callWallet("getAddress", () => signer.getAddress())),
    async sign(address, typedData) {
      const { domain, types: { [DOMAIN_TYPE.primaryType]: _, ...types }, message } = typedData;
      const signed = await callWallet("sign", () => signer.signTypedData(domain, types, message));
      return await requireSignature(address, typedData, signed);
    },
    switchChain: () => Promise.resolve(),
  };
}

/**
 * The provider behind a `JsonRpcSigner` of ethers, recognised by a method that no other signer has.
 * Its wallet prompts the user and is on one chain at a time.
 */
function providerOf(signer: EthersWallet): ProviderWallet | undefined {
  if (!("sendUncheckedTransaction" in signer && "provider" in signer)) return undefined;
  const { provider } = signer;
  if (typeof provider !== "object" || provider === null || !("send" in provider)) return undefined;
  const { send } = provider;
  if (typeof send !== "function") return undefined;
  return {
    request: ({ method, params = [] }) => Promise.resolve(send.call(provider, method, params)),
  };
}

/** A wallet behind an EIP-1193 provider: it prompts the user, and is on one chain at a time. */
class ProviderAdapter implements WalletAdapter {
  readonly #provider: ProviderWallet;
  readonly #account: { address: Address } | undefined;

  constructor(provider: ProviderWallet, account: { address: Address } | undefined) {
    this.#provider = provider;
    this.#account = account;
  }

  async address(): Promise<Address> {
    if (this.#account !== undefined) return addressSchema.parse(this.#account.address);
    const accounts = accountsSchema.safeParse(await this.#request("eth_requestAccounts"));
    const [first] = accounts.data ?? [];
    if (first === undefined) throw new WalletError("NO_ACCOUNT", "The wallet shares no account");
    return first;
  }

  async sign(address: Address, typedData: TypedData): Promise<Hex> {
    await this.#requireChain(typedData.domain.chainId);
    const params = [address, JSON.stringify(typedData)];
    return await requireSignature(
      address,
      typedData,
      await this.#request("eth_signTypedData_v4", params),
    );
  }

  async switchChain(chainId: number, chain: ChainDescription): Promise<void> {
    const id = { chainId: toQuantity(chainId) };
    try {
      await this.#provider.request({ method: "wallet_switchEthereumChain", params: [id] });
    } catch (thrown) {
      if (!codesOf(thrown).includes(UNKNOWN_CHAIN)) throw walletErrorOf("switch chains", thrown);
      await this.#request("wallet_addEthereumChain", [{ ...id, ...chain }]);
      // A wallet may add a chain without switching to it (EIP-3085).
      if (await this.#chainId() !== chainId) {
        await this.#request("wallet_switchEthereumChain", [id]);
      }
    }
    await this.#requireChain(chainId);
  }

  /** Checks the chain before signing: wallets refuse other chains with unclear errors. */
  async #requireChain(expected: number): Promise<void> {
    const actual = await this.#chainId();
    if (actual === expected) return;
    const message = `The wallet is on chain ${actual}: switch it to chain ${expected}`;
    throw new WalletError("WRONG_CHAIN", message, { details: { expected, actual } });
  }

  async #chainId(): Promise<number> {
    return Number(await this.#request("eth_chainId"));
  }

  #request(method: string, params?: unknown): Promise<unknown> {
    return callWallet(method, () => {
      return this.#provider.request(params === undefined ? { method } : { method, params });
    });
  }
}

const accountsSchema = z.array(addressSchema);

/** Converts v 0 or 1 and a high s, which services refuse, and checks the signer. */
async function requireSignature(
  expected: Address,
  typedData: TypedData,
  signed: unknown,
): Promise<Hex> {
  const parsed = anySignatureSchema.safeParse(signed);
  if (!parsed.success) {
    const message = "The wallet gave no 65-byte signature: contract accounts are not supported";
    throw new WalletError("UNSUPPORTED_SIGNATURE", message);
  }
  const signature = normalizeSignature(parsed.data);
  const actual = await callWallet("sign", () => recoverSigner(hashTypedData(typedData), signature));
  if (actual === expected) return signature;
  const message = `The wallet signed as ${actual}, not as ${expected}`;
  throw new WalletError("WRONG_SIGNER", message, { details: { expected, actual } });
}

async function callWallet<T>(what: string, ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    throw walletErrorOf(what, thrown);
  }
}

/** EIP-1193, EIP-3326 and MetaMask. */
const REJECTED = 4001;
const UNKNOWN_CHAIN = 4902;
const REQUEST_PENDING = -32002;

function walletErrorOf(what: string, cause: unknown): WalletError {
  const codes = codesOf(cause);
  if (codes.includes(REJECTED)) {
    return new WalletError("USER_REJECTED", `The user rejected the request (${what})`, { cause });
  }
  if (codes.includes(REQUEST_PENDING)) {
    const message = "Another request waits in the wallet: open it and answer";
    return new WalletError("WALLET_BUSY", message, { cause, retry: "later" });
  }
  const message = `The wallet failed (${what}): ${messageOf(cause)}`;
  return new WalletError("WALLET_FAILED", message, { cause });
}

/**
 * Where wallets nest the original error: viem `cause`, MetaMask on mobile `data`, ethers `info`.
 */
const NESTED_ERROR_KEYS = ["cause", "data", "originalError", "info", "error"] as const;

/** Depth to which nested errors are searched; wallets are known to nest three. */
const NESTED_ERRORS_MAX = 8;

/** Every code in an error, including the errors nested in it. */
function codesOf(thrown: unknown, depth: number = 0): number[] {
  if (typeof thrown !== "object" || thrown === null || depth === NESTED_ERRORS_MAX) return [];
  const fault: Partial<Record<"code" | typeof NESTED_ERROR_KEYS[number], unknown>> = thrown;
  const codes = typeof fault.code === "number" ? [fault.code] : [];
  return [...codes, ...NESTED_ERROR_KEYS.flatMap((key) => codesOf(fault[key], depth + 1))];
}
