import type { Session } from "./data/session.ts";
import { formatAmount, shortAddress } from "./format.ts";

/** The account in use and its balance. */
export function AccountChip({ session }: { session: Session }) {
  const user = session.user.value;
  if (user === undefined) return null;
  const account = user.portfolio.account.value;
  return (
    <span class="account-chip" title={`${user.walletName}: ${user.address}`}>
      <strong>{account === undefined ? "…" : `${formatAmount(account.balance)} USDC`}</strong>
      <code>{shortAddress(user.address)}</code>
    </span>
  );
}
