import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ExtraValues } from '#contract/extra-fields.js';
import { hasSlot, type Slots } from './options.js';

/** A node of a workflow, as ComfyUI's "Export (API)" writes it. */
interface WorkflowNode {
  readonly class_type: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

export type WorkflowNodes = Readonly<Record<string, WorkflowNode>>;

/** An uploaded image, as the input of a node. */
export type UploadedImage = string | Readonly<Record<string, unknown>>;

/** A workflow as configured in an entry's options. */
export interface WorkflowSource {
  /** Path of a JSON file, or the JSON itself. */
  readonly workflow: string | Readonly<Record<string, unknown>>;
  readonly slots: Slots;
  /** The node whose images are used, if several nodes save images. */
  readonly output?: string | undefined;
}

/** The values for the slots. */
export interface SlotValues {
  readonly prompt: string;
  readonly width: number | undefined;
  readonly height: number | undefined;
  readonly seed: number;
  readonly extra: ExtraValues;
  readonly images: readonly UploadedImage[];
  readonly mask: UploadedImage | undefined;
}

const SAVES = /save.*image|image.*save|preview.*image/i;

/** A validated workflow with its slots. */
export class Workflow {
  private constructor(
    private readonly nodes: WorkflowNodes,
    private readonly slots: Slots,
    /** Undefined uses the images of any node that saved some. */
    readonly output: string | undefined,
  ) {}

  /** Adds every problem to `problems`, prefixed with `name`; returns undefined if there are any. */
  static read(name: string, { workflow, slots, output }: WorkflowSource, problems: string[]): Workflow | undefined {
    const before = problems.length;
    const say = (problem: string): void => void problems.push(`${name} ${problem}`);
    const nodes = nodesOf(workflow, say);
    if (nodes === undefined) return undefined;
    const { extra = {}, ...own } = slots;
    for (const [slot, targets] of [...Object.entries(own), ...Object.entries(extra)]) {
      for (const target of listOf(targets)) checkTarget(nodes, slot, target, say);
    }
    if (output !== undefined && nodes[output] === undefined) say(`has no node ${output}, which is named as its output`);
    if (output === undefined && !Object.values(nodes).some((node) => SAVES.test(node.class_type))) {
      say('has no node that saves an image; name one as its output');
    }
    return problems.length > before ? undefined : new Workflow(nodes, slots, output);
  }

  get takesImages(): number {
    return this.slots.images?.length ?? 0;
  }

  get takesMask(): boolean {
    return this.slots.mask !== undefined;
  }

  get takesSize(): boolean {
    return this.slots.width !== undefined && this.slots.height !== undefined;
  }

  takesExtra(name: string): boolean {
    return hasSlot(this.slots, name);
  }

  /** The extra field with a slot at this input. */
  extraAt(node: string, input: string): string | undefined {
    const slots = Object.entries(this.slots.extra ?? {});
    return slots.find(([, targets]) => listOf(targets).includes(`${node}.${input}`))?.[0];
  }

  /** The workflow with these values inserted. */
  filled(values: SlotValues): WorkflowNodes {
    const nodes = structuredClone(this.nodes) as Record<
      string,
      { class_type: string; inputs: Record<string, unknown> }
    >;
    const put = (
      targets: string | string[] | undefined,
      value: ExtraValues[string] | UploadedImage | undefined,
    ): void => {
      if (targets === undefined || value === undefined) return;
      for (const target of listOf(targets)) {
        const { node, input } = partsOf(target);
        const found = nodes[node];
        if (found !== undefined) found.inputs[input] = value;
      }
    };
    put(this.slots.prompt, values.prompt);
    put(this.slots.width, values.width);
    put(this.slots.height, values.height);
    put(this.slots.seed, values.extra['seed'] ?? values.seed);
    for (const [name, targets] of Object.entries(this.slots.extra ?? {})) put(targets, values.extra[name]);
    put(this.slots.mask, values.mask);
    // Remaining slots get the last image again.
    for (const [index, slot] of (this.slots.images ?? []).entries()) {
      put(slot, values.images[index] ?? values.images.at(-1));
    }
    return nodes;
  }
}

/**
 * The same for every start of a task, so that a second start generates the same image. Fits the smallest seed field.
 */
export function seedOf(idempotencyKey: string): number {
  return createHash('sha256').update(idempotencyKey).digest().readUInt32BE(0);
}

function nodesOf(workflow: WorkflowSource['workflow'], say: (problem: string) => void): WorkflowNodes | undefined {
  let value: unknown = workflow;
  if (typeof workflow === 'string') {
    try {
      value = JSON.parse(readFileSync(workflow, 'utf8'));
    } catch (error) {
      say(error instanceof SyntaxError ? `is no JSON: ${workflow}` : `can't be read: ${workflow}`);
      return undefined;
    }
  }
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  const nodes = isMap ? Object.values(value as object) : [];
  if (nodes.length > 0 && nodes.every(isNode)) return value as WorkflowNodes;
  say('is not in the API format; export it with "Export (API)"');
  return undefined;
}

function isNode(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { class_type: kind, inputs } = value as Record<string, unknown>;
  return typeof kind === 'string' && typeof inputs === 'object' && inputs !== null;
}

function checkTarget(nodes: WorkflowNodes, slot: string, target: string, say: (problem: string) => void): void {
  const { node, input } = partsOf(target);
  const found = nodes[node];
  if (found === undefined) say(`has no node ${node}, which the slot ${slot} names`);
  else if (!Object.hasOwn(found.inputs, input))
    say(`has no input ${input} at node ${node}, which the slot ${slot} names`);
  else if (Array.isArray(found.inputs[input])) say(`has another node at ${target}, which the slot ${slot} names`);
}

/** Node ids of nested workflows contain colons; inputs of some nodes contain dots. */
function partsOf(target: string): { node: string; input: string } {
  const dot = target.indexOf('.');
  return { node: target.slice(0, dot), input: target.slice(dot + 1) };
}

function listOf(targets: string | string[]): readonly string[] {
  return typeof targets === 'string' ? [targets] : targets;
}
