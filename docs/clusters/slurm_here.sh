#!/bin/bash
# A Slurm of one machine on the loopback, to try a job file: ends with the command it was given.
#   sudo apt-get install --no-install-recommends munge slurmctld slurmd slurm-client
#   sudo bash slurm_here.sh sbatch --wait train.sbatch FOLDER
# As root, on a machine that runs no Slurm of its own. All files lie in a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
chmod 755 "$folder"
host=$(hostname -s)
cores=$(nproc)
started=()
finish() {
  for pid in "${started[@]}"; do kill "$pid" 2> /dev/null || true; done
  wait || true
  rm -rf "$folder"
}
trap finish EXIT

mkdir -p "$folder"/{munge,state,spool}
dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 status=none
chmod 700 "$folder/munge"
chmod 400 "$folder/munge/key"
munged --foreground --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" \
  --log-file="$folder/munge/log" --pid-file="$folder/munge/pid" --seed-file="$folder/munge/seed" &
started+=($!)

cat > "$folder/slurm.conf" << END
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores State=UNKNOWN
PartitionName=here Nodes=$host Default=YES State=UP
END
export SLURM_CONF="$folder/slurm.conf"
until [ -S "$folder/munge/socket" ]; do sleep 0.2; done
slurmctld -D > "$folder/slurmctld.log" 2>&1 &
started+=($!)
slurmd -D > "$folder/slurmd.log" 2>&1 &
started+=($!)
until sinfo -h -o %T 2> /dev/null | grep -q idle; do
  for pid in "${started[@]}"; do
    if ! kill -0 "$pid" 2> /dev/null; then
      tail -n 3 "$folder"/*.log >&2
      exit 1
    fi
  done
  sleep 0.5
done
srun --version
"$@"
