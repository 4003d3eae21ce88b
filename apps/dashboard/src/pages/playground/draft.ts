import { useState } from 'react';
import { useSession } from '../../api/queries.ts';
import { readKept, writeKept } from '../../api/kept-draft.ts';
import type { TaskDetail } from '../../api/types.ts';
import type { Overlay } from './overlay.ts';
import { settingsOf, START, type ImageSettings } from './settings.ts';

/** One of several orders of the same prompt. */
export interface ComparedOrder {
  readonly settings: ImageSettings;
  /** Its latest task. */
  readonly taskId: string | null;
}

/** An order that continued from the image of another task. */
export interface Turn {
  readonly taskId: string;
  readonly parentId: string;
}

/** The part of the draft that using an image can change. */
type Form = Pick<Draft, 'prompt' | 'settings' | 'compared' | 'files' | 'overlay' | 'varied' | 'continued'>;

/** The user's input on the page. */
export interface Draft {
  readonly prompt: string;
  readonly settings: ImageSettings;
  /** Orders to compare; null: a single order. */
  readonly compared: readonly ComparedOrder[] | null;
  /** Reference images. */
  readonly files: readonly File[];
  readonly overlay: Overlay | null;
  /** The reference image to vary; null, or an image no longer in `files`: none. */
  readonly varied: File | null;
  /** The reference image to continue from, with its task; null, or an image no longer the first: none. */
  readonly continued: { readonly file: File; readonly taskId: string } | null;
  /** The orders of this tab that continued from an image, oldest first. */
  readonly turns: readonly Turn[];
  /** The last automatic change, with the form before it; null: none, or already ordered. */
  readonly filled: { readonly words: string; readonly before: Form } | null;
  /** The number of reference images that a reload has dropped, until the user goes on. */
  readonly dropped: number;
  /** The task whose images are shown. */
  readonly taskId: string | null;
}

const EMPTY: Draft = {
  prompt: '',
  settings: START,
  compared: null,
  files: [],
  overlay: null,
  varied: null,
  continued: null,
  turns: [],
  filled: null,
  dropped: 0,
  taskId: null,
};

/** The part of the draft that undo restores. */
export function formOf({ prompt, settings, compared, files, overlay, varied, continued }: Draft): Form {
  return { prompt, settings, compared, files, overlay, varied, continued };
}

/** Older ones are forgotten. */
const MOST_TURNS = 60;

/** The turns with a new order, if it continues from an image. */
export function turnsWith(taskId: string, { files, continued, turns }: Draft): readonly Turn[] {
  if (continued === null || continued.file !== files[0]) return turns;
  return [...turns, { taskId, parentId: continued.taskId }].slice(-MOST_TURNS);
}

/** A task's prompt and settings, to edit and order again; `before` has the current settings. */
export function draftOf(task: TaskDetail, before: ImageSettings): Pick<Draft, 'prompt' | 'settings' | 'filled'> {
  return { prompt: task.prompt, settings: settingsOf(task, before), filled: null };
}

export type ChangeDraft = (changes: Partial<Draft>) => void;

/** The user's draft. It survives navigation and, without its images, a reload. */
export function useDraft(): readonly [Draft, ChangeDraft] {
  const { person } = useSession();
  const [draft, setDraft] = useState(() => ({ ...EMPTY, ...readKept<Draft>(person.id) }));
  const change: ChangeDraft = (changes) => {
    // From storage, because a response may arrive after the page was closed and opened again.
    const next = { ...EMPTY, ...readKept<Draft>(person.id), ...changes };
    const { files, overlay, varied, continued, filled, dropped, ...text } = next;
    // What a reload would drop is counted where it survives.
    const counted = { ...text, dropped: Math.max(files.length, dropped) };
    writeKept<Draft>(person.id, { text: counted, inMemory: { files, overlay, varied, continued, filled, dropped } });
    setDraft(next);
  };
  return [draft, change];
}
