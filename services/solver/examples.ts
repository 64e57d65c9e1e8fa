/** One bet through the bodies of all routes, for the document. */
const bet = {
  thesisType: "box",
  betAmount: "100000000",
  startTime: 4102441200000,
  endTime: 4102441260000,
  deadline: 4102444800000,
};

const user = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";

const oraclePair = {
  base: "0x0000000000000000000000000000000000000002",
  quote: "0x0000000000000000000000000000000000000100",
};

const priceRange = { lower: "2970000000", upper: "3030000000" };

/** Of the right form; over nothing, by nobody. */
const signature = `0x${"1a".repeat(64)}1b`;

/** Body of `POST /estimate`. */
export const exampleEstimate = {
  ...bet,
  ...oraclePair,
  lowerPrice: priceRange.lower,
  upperPrice: priceRange.upper,
};

/** Body of `POST /quote`. */
export const exampleQuote = { user, ...exampleEstimate };

/** Body of `POST /execute`. */
export const exampleExecution = {
  quote: { user, ...bet, oraclePair, priceRange, payout: "107500000", signature },
  userSignature: signature,
};
