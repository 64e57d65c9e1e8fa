import assert from "node:assert/strict";
import { BrowserProvider, JsonRpcSigner, verifyTypedData, Wallet as EthersWallet } from "ethers";
import { createWalletClient, custom, type Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  type ProviderWallet,
  type Retry,
  type Wallet,
  WalletError,
} from "../../../lib/client/mod.ts";
import { type TypedData, typedDataOf } from "../../../lib/protocol/typed_data.ts";
import { adaptWallet } from "../../../lib/client/wallet.ts";
import { DEPOSIT_REQUEST_TYPE } from "../../../lib/protocol/deposit.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { CURVE_ORDER } from "../../../lib/protocol/scalars.ts";

const CHAIN_ID = 1337;
const { address, privateKey } = DEV_ACCOUNTS.solver;
const account = privateKeyToAccount(privateKey);
const request = {
  user: address,
  amount: 2n ** 63n,
  nonce: 2n ** 200n,
  deadline: 1_700_000_000_000,
};
const message = { ...request, deadline: BigInt(request.deadline) };
const typedData = typedDataOf(DEPOSIT_REQUEST_TYPE, CHAIN_ID, message);
const chain = {
  chainName: "test",
  rpcUrls: ["http://127.0.0.1:8546"],
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
};

/** A wallet with a prompt, like a browser extension, on the test's chain. */
class FakeProvider implements ProviderWallet {
  readonly asked: string[] = [];
  readonly signed: TypedData[] = [];
  chainId = CHAIN_ID;
  knownChains = [1, CHAIN_ID];
  switchesToAdded = true;
  accounts: string[] = [address.toLowerCase()];
  failure: unknown;
  edit = (signature: Hex): unknown => signature;

  async request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
    this.asked.push(method);
    if (params === undefined) assert.deepEqual(arguments[0], { method });
    // Parameters of the methods below are arrays.
    const [first, second] = (params ?? []) as [unknown, unknown];
    if (method === "eth_chainId") return `0x${this.chainId.toString(16)}`;
    if (this.failure !== undefined) throw this.failure;
    if (method === "eth_requestAccounts") return this.accounts;
    if (method === "wallet_switchEthereumChain") return this.#switch(first);
    if (method === "wallet_addEthereumChain") {
      this.knownChains.push(CHAIN_ID);
      return this.switchesToAdded ? this.#switch(first) : null;
    }
    assert.equal(method, "eth_signTypedData_v4");
    assert.equal(first, address);
    const data: TypedData = JSON.parse(String(second));
    this.signed.push(data);
    return this.edit(await account.signTypedData(data));
  }

  #switch(chain: unknown): null {
    const { chainId } = chain as { chainId: string }; // what every switch carries
    if (!this.knownChains.includes(Number(chainId))) {
      // MetaMask on mobile wraps the code that the standard names.
      const fault = { code: -32603, data: { originalError: { code: 4902 } } };
      throw Object.assign(new Error("Unrecognized chain ID"), fault);
    }
    this.chainId = Number(chainId);
    return null;
  }
}

function walletClient(provider: FakeProvider, local: boolean): Wallet {
  return createWalletClient({
    account: local ? account : address,
    transport: custom(provider, { retryCount: 0 }),
  });
}

/** Each kind of wallet, and whether it asks its provider to sign. */
const WALLETS: Record<string, (provider: FakeProvider) => { wallet: Wallet; prompts: boolean }> = {
  "a viem account": () => ({ wallet: account, prompts: false }),
  "a viem WalletClient with a local account": (provider) => {
    return { wallet: walletClient(provider, true), prompts: false };
  },
  "a viem WalletClient on a provider": (provider) => {
    return { wallet: walletClient(provider, false), prompts: true };
  },
  "an EIP-1193 provider": (provider) => ({ wallet: provider, prompts: true }),
  "an ethers Wallet": () => ({ wallet: new EthersWallet(privateKey), prompts: false }),
  "an ethers signer of a provider": (provider) => {
    const browser = new BrowserProvider(provider, CHAIN_ID);
    return { wallet: new JsonRpcSigner(browser, address), prompts: true };
  },
};

const PROMPTING = [
  "an EIP-1193 provider",
  "a viem WalletClient on a provider",
  "an ethers signer of a provider",
];

for (const [name, make] of Object.entries(WALLETS)) {
  Deno.test(`adaptWallet: ${name} signs full typed data with decimal strings`, async () => {
    const provider = new FakeProvider();
    const { wallet, prompts } = make(provider);
    const signing = adaptWallet(wallet);
    assert.equal(await signing.address(), address);
    assert.deepEqual(provider.asked, wallet === provider ? ["eth_requestAccounts"] : []);
    const signature = await signing.sign(address, typedData);
    const { EIP712Domain: _, ...types } = typedData.types;
    assert.equal(verifyTypedData(typedData.domain, types, typedData.message, signature), address);
    assert.deepEqual(provider.signed, prompts ? [typedData] : []);
    await signing.switchChain(CHAIN_ID, chain);
  });
}

Deno.test("adaptWallet: a value that is not a wallet is refused at once", () => {
  const getAddress = () => address;
  const refused: unknown[] = [
    {},
    null,
    "0x12",
    { address },
    { request: "no function" },
    { address, signTypedData: "no function" },
    { getAddress },
    { getAddress: "no function", signTypedData: getAddress },
    { getAddress, _signTypedData: getAddress },
  ];
  const message = /^Not a wallet: expected a viem account/;
  for (const value of refused) {
    // The types forbid these; JavaScript callers have no types.
    const make = () => adaptWallet(value as unknown as Wallet);
    assert.throws(make, { code: "UNSUPPORTED_WALLET", message });
  }
});

Deno.test("adaptWallet: a signer whose provider cannot be called signs locally", async () => {
  const wallet = new EthersWallet(privateKey);
  const own = {
    getAddress: () => wallet.getAddress(),
    signTypedData: wallet.signTypedData.bind(wallet),
  };
  const send = () => assert.fail("It was asked");
  const remote = [undefined, null, "url", {}, { send: "no function" }]
    .map((provider) => ({ ...own, sendUncheckedTransaction: send, provider }));
  const expected = await account.signTypedData(typedData);
  for (const signer of [own, { ...own, provider: { send } }, ...remote]) {
    assert.equal(await adaptWallet(signer).sign(address, typedData), expected);
  }
});

Deno.test("ProviderWallet: a wallet on another chain is not asked to sign until it has been switched", async () => {
  const provider = new FakeProvider();
  provider.chainId = 1;
  const signing = adaptWallet(provider);
  await assert.rejects(signing.sign(address, typedData), {
    name: "WalletError",
    code: "WRONG_CHAIN",
    details: { expected: CHAIN_ID, actual: 1 },
  });
  assert.deepEqual(provider.signed, []);
  await signing.switchChain(CHAIN_ID, chain);
  await signing.sign(address, typedData);
  assert(!provider.asked.includes("wallet_addEthereumChain"));
});

for (const name of PROMPTING) {
  for (const switchesToAdded of [true, false]) {
    const more = switchesToAdded ? "" : ", and then to switch to it if it has not";
    Deno.test(`ProviderWallet: ${name} on an unknown chain is asked to add the chain${more}`, async () => {
      const provider = new FakeProvider();
      Object.assign(provider, { chainId: 1, knownChains: [1], switchesToAdded });
      await adaptWallet(WALLETS[name]!(provider).wallet).switchChain(CHAIN_ID, chain); // of the table above
      assert.equal(provider.chainId, CHAIN_ID);
      assert.deepEqual(provider.asked.filter((one) => one.startsWith("wallet_")), [
        "wallet_switchEthereumChain",
        "wallet_addEthereumChain",
        ...switchesToAdded ? [] : ["wallet_switchEthereumChain"],
      ]);
    });
  }
}

function circular(): Error {
  const error = new Error("again");
  error.cause = error;
  return Object.assign(error, { code: "4001" });
}

const FAILURES: [string, unknown, string, Retry][] = [
  [
    "a rejection",
    Object.assign(new Error("User denied"), { code: 4001 }),
    "USER_REJECTED",
    "never",
  ],
  [
    "a pending prompt",
    Object.assign(new Error("pending"), { code: -32002 }),
    "WALLET_BUSY",
    "later",
  ],
  ["another error", new Error("Ledger is locked"), "WALLET_FAILED", "never"],
  ["something that is no error", "no", "WALLET_FAILED", "never"],
  ["an error within itself", circular(), "WALLET_FAILED", "never"],
];

for (const [what, failure, code, retry] of FAILURES) {
  for (const name of PROMPTING) {
    Deno.test(`ProviderWallet: ${what} of ${name} is ${code}`, async () => {
      const provider = new FakeProvider();
      provider.failure = failure;
      const signing = adaptWallet(WALLETS[name]!(provider).wallet); // of the table above
      const calls = [
        () => signing.sign(address, typedData),
        () => signing.switchChain(CHAIN_ID, chain),
      ];
      for (const call of calls) {
        await assert.rejects(call, (thrown) => {
          return thrown instanceof WalletError && thrown.code === code &&
            thrown.retry === retry && thrown.cause !== undefined;
        });
      }
      assert(!provider.asked.includes("wallet_addEthereumChain"));
    });
  }
}

Deno.test("ProviderWallet: a wallet without a shared account throws NO_ACCOUNT", async () => {
  const provider = new FakeProvider();
  for (const accounts of [[], ["me"]]) {
    provider.accounts = accounts;
    await assert.rejects(adaptWallet(provider).address(), { code: "NO_ACCOUNT" });
  }
});

Deno.test("ProviderWallet: v 0 and 1 of hardware wallets become 27 and 28, and a high s the low one", async () => {
  const provider = new FakeProvider();
  const expected = await account.signTypedData(typedData);
  const parity = (signature: string) => Number.parseInt(signature.slice(130), 16) - 27;
  const edits: typeof provider.edit[] = [
    (signature) => `${signature.slice(0, 130)}0${parity(signature)}`,
    (signature) => {
      const s = (CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`)).toString(16);
      return `${signature.slice(0, 66)}${s.padStart(64, "0")}${parity(signature) ? "1b" : "1c"}`;
    },
  ];
  for (const edit of edits) {
    provider.edit = edit;
    assert.equal(await adaptWallet(provider).sign(address, typedData), expected);
  }
});

Deno.test("ProviderWallet: a signature by another account or of another form is refused", async () => {
  const provider = new FakeProvider();
  const other = await privateKeyToAccount(DEV_ACCOUNTS.admin.privateKey).signTypedData(typedData);
  const details = {
    expected: address,
    actual: privateKeyToAccount(DEV_ACCOUNTS.admin.privateKey).address,
  };
  const refusals = [[other, { code: "WRONG_SIGNER", details }]] as [string, object][];
  for (const signature of ["0x1234", `0x${other}`, `${other}00`]) {
    refusals.push([signature, { code: "UNSUPPORTED_SIGNATURE" }]);
  }
  for (const [signature, refusal] of refusals) {
    provider.edit = () => signature;
    await assert.rejects(adaptWallet(provider).sign(address, typedData), refusal);
  }
});
