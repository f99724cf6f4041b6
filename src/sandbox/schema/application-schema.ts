/** Certification applications and their answers. */
export const applicationSchema = `
-- status: the contract's key of the status, not its name on the wire.
create table if not exists sandbox.application (
  id uuid primary key,
  number integer not null unique,
  profile_id integer not null,
  company_id uuid not null references sandbox.company,
  standard_id uuid not null,
  status text not null check (status in ('inPreparation', 'awaitingApplicationReview', 'approved', 'rejected')),
  created_at timestamptz not null
);
create index if not exists application_of_profile on sandbox.application (profile_id, number);

-- values: of the answer, without the names that they have on the wire; a range of dates has two.
create table if not exists sandbox.application_answer (
  application_id uuid not null references sandbox.application on delete cascade,
  data_point_id uuid not null,
  values jsonb not null,
  primary key (application_id, data_point_id)
);
`
