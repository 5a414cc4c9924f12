/** What kernels that hand values round a subgroup need to know of the adapter. */
import type { AdapterSummary } from '../device';

/** Constants of the subgroup kernels, written before their text. */
export interface SubgroupShape {
  /** Lanes of a workgroup. */
  readonly lanes: number;
  /** Lanes of a subgroup that load different values. */
  readonly share: 4 | 8;
}

/** The constants for an adapter; undefined where it has no subgroups, or may make them smaller than 4. */
export function subgroupShape(
  adapter: Pick<AdapterSummary, 'features' | 'subgroupMinSize'>,
): SubgroupShape | undefined {
  const smallest = adapter.features.includes('subgroups') ? (adapter.subgroupMinSize ?? 0) : 0;
  if (smallest < 4) return undefined;
  return { lanes: Math.min(64, Math.max(8, smallest)), share: smallest < 8 ? 4 : 8 };
}

/**
 * Directives and constants in front of a subgroup kernel's text. The diagnostic is off because loops around shuffles
 * end by a minimum, a maximum or a vote of the subgroup: alike in all its lanes, which the compiler cannot see. It also assumes that
 * lanes meet again after a loop that ran longer in some of them (attention of decode-fused.wgsl), which WGSL does not promise.
 */
export function withSubgroup(text: string, { lanes, share }: SubgroupShape): string {
  const directives = 'enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n';
  return `${directives}const LANES = ${lanes}u;\nconst SHARE = ${share}u;\n${text}`;
}
