import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Page } from "puppeteer-core";
import { z } from "zod";

const requestSchema = z.object({ method: z.string(), params: z.array(z.unknown()).optional() });

const typedDataSchema = z.object({
  domain: z.record(z.string(), z.unknown()),
  types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
  primaryType: z.string(),
  message: z.record(z.string(), z.unknown()),
});

/** A wallet extension: it announces itself to the page (EIP-6963), and signs here. */
export interface InjectedWallet {
  address: string;
  /** The chain that it is on. */
  chainId: number;
  /** Its prompts are open, and nobody answers them. */
  isSilent: boolean;
  /** Uses another account, of which it tells the page. */
  switchTo(address: string): Promise<void>;
}

/** Puts a wallet into a page before it is loaded. */
export async function injectWallet(page: Page, name: string): Promise<InjectedWallet> {
  const account = privateKeyToAccount(generatePrivateKey());
  const wallet: InjectedWallet = {
    address: account.address,
    chainId: 1337,
    isSilent: false,
    switchTo: (address) =>
      page.evaluate((address) => {
        dispatchEvent(new CustomEvent("accountsChanged", { detail: [address] }));
      }, address),
  };
  const answer = async (text: string) => {
    const { method, params = [] } = requestSchema.parse(JSON.parse(text));
    switch (method) {
      case "eth_requestAccounts":
        return { result: [account.address] };
      case "eth_chainId":
        return { result: `0x${wallet.chainId.toString(16)}` };
      case "wallet_switchEthereumChain":
        wallet.chainId = 1337;
        return { result: null };
      case "eth_signTypedData_v4": {
        if (wallet.isSilent) return await new Promise<never>(() => {});
        const { types, ...rest } = typedDataSchema.parse(JSON.parse(String(params[1])));
        const { EIP712Domain: _, ...own } = types;
        return { result: await account.signTypedData({ ...rest, types: own }) };
      }
      default:
        return { error: { code: -32601, message: `No method ${method}` } };
    }
  };
  await page.exposeFunction("askWallet", answer);
  await page.evaluateOnNewDocument((name) => {
    const provider = {
      async request(request: unknown) {
        const ask: (text: string) => Promise<{ result?: unknown; error?: object }> = Reflect.get(
          globalThis,
          "askWallet",
        );
        const { result, error } = await ask(JSON.stringify(request));
        if (error !== undefined) throw Object.assign(new Error("refused"), error);
        return result;
      },
      on(event: string, listen: (news: unknown) => void) {
        addEventListener(event, (news) => listen(Reflect.get(news, "detail")));
      },
    };
    const info = { uuid: "350670db-19fa-4704-a166-e52e178b59d2", name, icon: "", rdns: "test" };
    const announce = () => {
      const detail = Object.freeze({ info, provider });
      dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
    };
    addEventListener("eip6963:requestProvider", announce);
    announce();
  }, name);
  return wallet;
}
