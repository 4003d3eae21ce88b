import { ApiProperty } from '@nestjs/swagger';
import { BudgetView, SpendView } from '../budget-view.js';
import { LinkView } from './team-views.js';

/** An account as its own admins see it. */
export class OwnAccountView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ type: BudgetView, nullable: true })
  budget!: BudgetView | null;

  @ApiProperty({ type: SpendView, description: 'Since the month began, in UTC; settled and reserved.' })
  spend!: SpendView;
}

/** An account as operators see it: figures, and nothing of what it draws. */
export class AccountRowView extends OwnAccountView {
  @ApiProperty({ description: 'The first account, which cannot be disabled.' })
  first!: boolean;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  disabled_at!: string | null;

  @ApiProperty({ type: 'integer', description: 'Who may sign in.' })
  people!: number;

  @ApiProperty({ type: 'integer', description: 'Those of them who are admins.' })
  admins!: number;

  @ApiProperty({ type: 'integer', description: 'Keys that work.' })
  keys!: number;

  @ApiProperty({ type: 'integer', description: 'Tasks that wait or run.' })
  tasks_in_flight!: number;
}

export class AccountListView {
  @ApiProperty({ type: [AccountRowView] })
  data!: AccountRowView[];
}

export class NewAccountView extends LinkView {
  @ApiProperty({ type: AccountRowView })
  account!: AccountRowView;
}
