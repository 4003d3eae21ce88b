/** Short names for types of the console API. Times are ISO 8601 strings, except in a timeline: unix seconds. */
import type { Schema } from './generated/schema.ts';

export type Session = Schema['SessionView'];
export type Role = Session['person']['role'];
export type Ability = Session['abilities'][number];
/** The user's active sessions. */
export type Sessions = Schema['SessionListView'];
export type SignInState = Schema['SignInView'];

/** An amount; a task's cost has more fields. */
export type Money = Pick<Schema['CostView'], 'amount' | 'currency'>;
/** A sum of amounts, and what it leaves out because no price was known. */
export type Spent = Schema['SpentView'];
export type BudgetPeriod = Schema['BudgetView']['period'];

export type ApiKey = Schema['KeyView'];
export type NewKey = Schema['NewKeyView'];
/** All settings of a key. */
export type KeySettings = Required<Schema['NewKeyBody']>;
export type KeyScope = KeySettings['scopes'][number];

export type TaskRow = Schema['ConsoleTaskRow'];
export type TaskPage = Schema['ConsoleTaskPage'];
export type TaskCount = Schema['TaskCountView'];
export type TaskDetail = Schema['ConsoleTaskView'];
export type TimelineEvent = Schema['ConsoleTaskEventView'];
/** A reference image or mask. */
export type SentImage = Schema['SentImageView'];
/** A delivery of a task's webhook. */
export type Delivery = Schema['TaskDeliveryView'];
export type SavedView = Schema['SavedViewView'];
export type ManyTasks = Schema['ManyTasksView'];
export type AcceptedTask = Schema['AcceptedTaskView'];
export type PartialImage = Schema['PartialPictureView'];

/** A model of GET /v1/models, with what the playground needs in addition. */
export type Model = Schema['PlaygroundModelView'];

/** A request of the playground; the model defines the allowed values and the maximum number of images. */
export type ImageOrder = Readonly<Record<'model' | 'prompt' | 'size' | 'quality' | 'output_format', string>> & {
  readonly resolution?: string;
  readonly background?: string;
  readonly complexity?: string;
  readonly frame_count?: number;
  readonly frame_duration_ms?: number;
  readonly n: number;
  /** Values of fields that only this model has; they are sent beside the others. */
  readonly extra?: Readonly<Record<string, string | number | boolean>>;
};

export type Usage = Schema['UsageListView'];
export type UsageRow = Schema['UsageView'];

/** Whether the password was right and a code is required. */
export function isHalfway(answer: Session | Schema['SecondStepView']): answer is Schema['SecondStepView'] {
  return 'second_step' in answer;
}
