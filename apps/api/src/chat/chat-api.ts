/** What differs between the two APIs for chats. All else is the same for both: admission, failover, relaying, usage. */
export interface ChatApi {
  /** Its path below a provider's base URL. */
  readonly path: string;
  /** The member that holds what is said. */
  readonly input: string;
  /** Members that limit the tokens of a response; the first one that is set counts. */
  readonly outputLimits: readonly string[];
  /** Whether the usage at the end of a stream must be requested, as the last event that callers may not expect. */
  readonly usageOnRequest: boolean;
}

export const CHAT_COMPLETIONS: ChatApi = {
  path: '/chat/completions',
  input: 'messages',
  outputLimits: ['max_completion_tokens', 'max_tokens'],
  usageOnRequest: true,
};

export const RESPONSES: ChatApi = {
  path: '/responses',
  input: 'input',
  outputLimits: ['max_output_tokens'],
  usageOnRequest: false,
};
