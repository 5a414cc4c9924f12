/** The part of jStat that is used here; the package has no types of its own. */
declare module 'jstat' {
  const jStat: {
    mean(values: readonly number[]): number;
    /** Divided by n − 1 with `sample`, else by n. */
    stdev(values: readonly number[], sample?: boolean): number;
    /** Pearson. */
    corrcoeff(left: readonly number[], right: readonly number[]): number;
    readonly studentt: { inv(probability: number, degreesOfFreedom: number): number };
    readonly beta: { inv(probability: number, alpha: number, beta: number): number };
  };
  export default jStat;
}
