/** Path parameters with an id. */
export class IdParam {
  readonly id!: string;
}

/** Path parameters with a name. */
export class NameParam {
  readonly name!: string;
}

/** Path parameters with a task id. Any text is allowed; an invalid id gets the same response as an unknown one. */
export class TaskIdParam {
  readonly taskId!: string;
}

/** Path parameters with a model id. */
export class ModelIdParam {
  readonly modelId!: string;
}

/** Path parameters with a response id. Any text is allowed; an invalid id gets the same response as an unknown one. */
export class ResponseIdParam {
  readonly responseId!: string;
}
