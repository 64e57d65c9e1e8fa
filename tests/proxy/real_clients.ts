import { WebSocketProvider } from "ethers";
import { createPublicClient, webSocket } from "viem";
import { RpcSocket } from "../support/rpc_socket.ts";

/** A client of another project, unmodified, that notes the heads it is notified of. */
export interface HeadFollower extends AsyncDisposable {
  name: string;
  /** Numbers of the heads, in the order in which they came. */
  readonly numbers: readonly number[];
  readonly heads: number;
}

/** viem, ethers and a bare socket, each following `newHeads` on a connection of its own. */
export async function followers(wsUrl: string): Promise<HeadFollower[]> {
  return await Promise.all([followWithViem(wsUrl), followWithEthers(wsUrl), followBare(wsUrl)]);
}

async function followWithViem(wsUrl: string): Promise<HeadFollower> {
  const transport = webSocket(wsUrl, { keepAlive: false, reconnect: false, retryCount: 0 });
  const client = createPublicClient({ transport });
  const numbers: number[] = [];
  const subscription = await client.transport.subscribe({
    params: ["newHeads"],
    onData: ({ result }) => numbers.push(Number(result.number)),
  });
  return follower("viem", () => numbers, async () => {
    await subscription.unsubscribe();
    (await client.transport.getRpcClient()).close();
  });
}

async function followWithEthers(wsUrl: string): Promise<HeadFollower> {
  const provider = new WebSocketProvider(wsUrl, undefined, { cacheTimeout: -1 });
  const numbers: number[] = [];
  await provider.on("block", (number: number) => numbers.push(number));
  return follower("ethers", () => numbers, () => provider.destroy());
}

async function followBare(wsUrl: string): Promise<HeadFollower> {
  const socket = await RpcSocket.open(wsUrl);
  const { result } = await socket.call("eth_subscribe", ["newHeads"]);
  const numberOf = (head: unknown) => Number((head as { number: string }).number); // of newHeads
  const numbers = () => socket.notifications(result).map(numberOf);
  return follower("bare socket", numbers, () => socket.close());
}

function follower(
  name: string,
  numbers: () => number[],
  close: () => Promise<void>,
): HeadFollower {
  return {
    name,
    get numbers() {
      return numbers();
    },
    get heads() {
      return numbers().length;
    },
    [Symbol.asyncDispose]: close,
  };
}
