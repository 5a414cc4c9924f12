/**
 * Lets LabError keep its parts across Comlink. Comlink copies only message, name and stack of what a call throws; import
 * this module on both sides of a worker boundary before the first call.
 */
import * as Comlink from 'comlink';
import { errorParts, LabError, type LabErrorParts } from '../core/errors';

interface Thrown {
  readonly parts: LabErrorParts;
  readonly stack: string | undefined;
}

const isThrown = (value: unknown): value is { value: unknown } =>
  typeof value === 'object' && value !== null && 'value' in value;

const original = Comlink.transferHandlers.get('throw');

Comlink.transferHandlers.set('throw', {
  canHandle: (value: unknown): value is unknown => original?.canHandle(value) ?? false,
  serialize: (thrown: unknown): [Thrown, Transferable[]] => {
    const value = isThrown(thrown) ? thrown.value : thrown;
    return [{ parts: errorParts(value), stack: value instanceof Error ? value.stack : undefined }, []];
  },
  deserialize: ({ parts, stack }: Thrown): never => {
    const error = new LabError(parts);
    if (stack) error.stack = stack;
    throw error;
  },
} as Comlink.TransferHandler<unknown, Thrown>);
