/** The path of what has an id. */
export class IdParam {
  readonly id!: string;
}

/** The path of what has a name. */
export class NameParam {
  readonly name!: string;
}

/** The path of a task. Any text may stand there: what is no id of a task is answered like one that is unknown. */
export class TaskIdParam {
  readonly taskId!: string;
}

/** The path of a model. */
export class ModelIdParam {
  readonly modelId!: string;
}
