/** Names of the providers that charge nothing, for whoever knows a provider only by the name in a task's row. */
export const FREE_PROVIDERS: readonly string[] = ['sandbox'];
