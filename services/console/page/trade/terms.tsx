import { Fact } from "../fact.tsx";
import { formatAmount } from "../format.ts";
import { breakEvenOf, oddsOf, type Priced } from "./odds.ts";

interface TermsProps {
  /** The maker's estimate or quote; undefined while there is none. */
  priced: Priced | undefined;
  /** The least payout at which the bet is placed without asking again. */
  least: bigint | undefined;
  /** Shown once it is no longer in a field. */
  betAmount?: bigint;
}

/** What a bet pays and its chance, at the same place before and while it is signed. */
export function Terms({ priced, least, betAmount }: TermsProps) {
  const odds = priced && oddsOf(priced, undefined);
  return (
    <dl class="facts terms" id="terms">
      <Fact label="You get">
        <strong data-payout={priced?.payout.toString()}>
          {priced ? `${formatAmount(priced.payout)} USDC` : "–"}
        </strong>
        {odds && " "}
        {odds && <span class="note">({odds.multiplier})</span>}
      </Fact>
      {betAmount !== undefined && <Fact label="You bet">{formatAmount(betAmount)}</Fact>}
      <Fact label="At least">{least === undefined ? "–" : formatAmount(least)}</Fact>
      <Fact label="Chance">{odds?.chance ?? "–"}</Fact>
      <Fact label="Break-even">{priced ? breakEvenOf(priced, least) : "–"}</Fact>
    </dl>
  );
}
