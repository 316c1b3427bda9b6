#!/usr/bin/env bash
# A real Slurm on this one machine: a controller and four virtual nodes, of which g1 and g2 have a (pretended) GPU.
#   slurm.sh packages      the Debian packages, if they are missing; exit status 3 if that is impossible
#   slurm.sh up FOLDER     configure and start everything under FOLDER, an empty folder of the test
#   slurm.sh node FOLDER NAME   start one node's daemon (again)
#   slurm.sh down FOLDER   stop it and remove every trace outside FOLDER
# Daemons keep their files in FOLDER. Outside it there are only /etc/slurm/slurm.conf and gres.conf, links into FOLDER:
# jobs lose the variable SLURM_CONF on their way, and without it Slurm reads nothing else.
set -euo pipefail

NODES=(c1 c2 g1 g2)
CONF=/etc/slurm

impossible() { echo "test-cluster: $*" >&2; exit 3; }

all_there() {
    local program
    for program in slurmctld slurmd sbatch munged; do command -v "$program" > /dev/null || return 1; done
}

packages() {
    [ "$(uname)" = Linux ] || impossible "Slurm runs on Linux only, this is $(uname)"
    [ "$(id -u)" = 0 ] || impossible "needs root, to install Slurm and to start its daemons; this is $(id -un)"
    local link="$CONF/slurm.conf"
    if [ -L "$link" ] && [[ "$(readlink "$link")" == *partialfair-slurm.* ]]; then
        if scontrol ping 2> /dev/null | grep -q "is UP"; then
            impossible "another run of it is under way; if it was killed: tests/cluster/slurm.sh down $(dirname "$(readlink "$link")")"
        fi
        rm -f "$CONF/slurm.conf" "$CONF/gres.conf" # a run that was killed left them
    fi
    [ ! -e "$link" ] || impossible "this machine has a Slurm of its own ($link); the test would take its place"
    if all_there; then return; fi
    command -v apt-get > /dev/null || impossible "needs Slurm: without apt-get, install slurmctld, slurmd, sbatch and munged"
    local log
    log=$(mktemp)
    for attempt in 1 2; do
        if { timeout 60 apt-get update -o Acquire::Retries=2 && DEBIAN_FRONTEND=noninteractive timeout 180 apt-get \
            install -y --no-install-recommends slurm-wlm munge; } > "$log" 2>&1 < /dev/null; then
            rm -f "$log"
            all_there || impossible "apt-get installed slurm-wlm without its daemons"
            return
        fi
        sleep "$((5 * attempt))"
    done
    tail -n 15 "$log" >&2
    rm -f "$log"
    impossible "apt-get cannot install slurm-wlm and munge (its last lines are above)"
}

configure() {
    local folder=$1 host
    host=$(hostname -s)
    mkdir -p "$folder"/{state,spool,log,run}
    install -d -o munge -g munge -m 0711 "$folder/munge"
    head -c 1024 /dev/urandom > "$folder/munge/key"
    chown munge "$folder/munge/key" && chmod 0400 "$folder/munge/key"
    # JobAcctGather with OverMemoryKill enforces --mem without cgroups, which a container may not offer.
    cat > "$folder/slurm.conf" << CONFIG
ClusterName=partialfair
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$((BASE_PORT))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
MinJobAge=7200
SlurmdTimeout=10
KillWait=2
ReturnToService=2
SchedulerParameters=sched_interval=2,bf_interval=2
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/%n.log
NodeName=c[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((BASE_PORT + 1))-$((BASE_PORT + 2))] CPUs=2 RealMemory=6000 State=UNKNOWN
NodeName=g[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((BASE_PORT + 3))-$((BASE_PORT + 4))] CPUs=2 RealMemory=6000 Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes=c[1-2] Default=YES State=UP
PartitionName=gpu Nodes=g[1-2] State=UP
CONFIG
    # A file is required, else there are 0 GPUs.
    echo "NodeName=g[1-2] Name=gpu File=/dev/null" > "$folder/gres.conf"
}

up() {
    local folder=$1
    BASE_PORT=${PARTIALFAIR_SLURM_PORT:-17000}
    configure "$folder"
    mkdir -p "$CONF"
    ln -s "$folder/slurm.conf" "$folder/gres.conf" "$CONF/"
    runuser -u munge -- munged --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
        --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" --force < /dev/null >> "$folder/log/start.log" 2>&1
    slurmctld -c < /dev/null >> "$folder/log/start.log" 2>&1
    for name in "${NODES[@]}"; do node "$folder" "$name"; done
    for _ in $(seq 60); do
        if [ "$(sinfo --noheader --Node --states=idle --format=%N 2> /dev/null | sort -u | wc -l)" = "${#NODES[@]}" ]; then return; fi
        sleep 0.5
    done
    sinfo --Node --long >&2 || true
    tail -n 20 "$folder"/log/*.log >&2
    echo "test-cluster: the nodes did not come up" >&2
    exit 1
}

node() {
    mkdir -p "$1/spool/$2"
    slurmd -N "$2" < /dev/null >> "$1/log/start.log" 2>&1
}

stop() { # PIDFILE NAME: end the process of a pid file if it is (still) that program
    local pid
    pid=$(cat "$1" 2> /dev/null) || return 0
    [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = "$2" ] || return 0
    kill "$pid"
    for _ in $(seq 20); do
        [ -e "/proc/$pid" ] || return 0
        sleep 0.25
    done
    kill -9 "$pid" 2> /dev/null || true
}

down() {
    local folder=$1 name
    if [ "$(readlink "$CONF/slurm.conf" 2> /dev/null)" = "$folder/slurm.conf" ]; then
        scancel --user root 2> /dev/null || true
        for _ in $(seq 20); do
            [ -n "$(squeue --noheader --states=running,completing 2> /dev/null)" ] || break
            sleep 0.25
        done
        rm -f "$CONF/slurm.conf" "$CONF/gres.conf"
    fi
    for name in "${NODES[@]}"; do stop "$folder/run/$name.pid" slurmd; done
    stop "$folder/run/slurmctld.pid" slurmctld
    stop "$folder/munge/pid" munged
    # Step daemons whose node daemon was killed are still there, and a Snakemake in a job can outlive the scancel: its
    # handler of SIGTERM waits for a lock that the interrupted code holds.
    for pid in $(pgrep 'slurmstepd|python|snakemake' || true); do
        if grep -qs "$folder" "/proc/$pid/environ" || [[ "$(readlink "/proc/$pid/cwd")" == "$folder"* ]]; then kill -9 "$pid" || true; fi
    done
}

"$@"
