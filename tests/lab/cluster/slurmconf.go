package cluster

import (
	"fmt"
	"strings"
)

// Places on a host's own /run, which a power cut takes with it.
const (
	StateDir = "/run/slurmctld"
	SpoolDir = "/run/slurmd"
	MungeDir = "/run/munge"
)

// Ports of Slurm's daemons.
const (
	SlurmctldPort = 6817
	SlurmdPort    = 6818
)

// common is what all labs share. Jobs start within a fraction of a second, and
// finished ones can still be asked about for five minutes.
const common = `ClusterName=lab
SlurmctldHost=login
SlurmUser=slurm
AuthType=auth/munge
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
PrologFlags=Alloc
ReturnToService=2
MinJobAge=300
KillWait=5
SlurmdTimeout=20
InactiveLimit=0
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmctldDebug=verbose
SlurmdDebug=verbose
`

// SlurmConf is the lab's slurm.conf.
func (s Spec) SlurmConf() string {
	b := &strings.Builder{}
	b.WriteString(common)
	fmt.Fprintf(b, "StateSaveLocation=%s\nSlurmctldPidFile=/run/slurmctld.pid\nSlurmctldPort=%d\nSlurmdPort=%d\n", StateDir, SlurmctldPort, SlurmdPort)
	fmt.Fprintf(b, "SlurmdSpoolDir=%s\nSlurmdPidFile=/run/slurmd.pid\n", SpoolDir)
	fmt.Fprintf(b, "SlurmctldLogFile=%s/slurmctld.log\nSlurmdLogFile=%s/%%h/slurmd.log\n", LogDir(Login), Logs)
	if s.Cgroup {
		b.WriteString("ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n")
	} else {
		b.WriteString("ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n")
	}
	gres := ""
	if s.GPUs > 0 {
		b.WriteString("GresTypes=gpu\n")
		gres = fmt.Sprintf(" Gres=gpu:%d", s.GPUs)
	}
	for _, line := range s.Conf {
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(b, "NodeName=n[1-%d] CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=2000%s State=UNKNOWN\n", s.Nodes, gres)
	b.WriteString("PartitionName=lab Nodes=ALL Default=YES DefaultTime=10 MaxTime=60 State=UP\n")
	return b.String()
}

// GresConf is the lab's gres.conf.
func (s Spec) GresConf() string {
	if s.GPUs == 0 {
		return ""
	}
	return fmt.Sprintf("AutoDetect=off\nName=gpu File=%s\n", gpuFiles(s.GPUs))
}

func gpuFiles(n int) string {
	if n == 1 {
		return GPUFile(0)
	}
	return fmt.Sprintf("/dev/nvidia[0-%d]", n-1)
}

// GPUFile is the device file of a node's i-th GPU, counted from zero.
func GPUFile(i int) string { return fmt.Sprintf("/dev/nvidia%d", i) }

// CgroupConf is the lab's cgroup.conf.
const CgroupConf = `CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainDevices=yes
`

// LogDir is where a host's daemons log.
func LogDir(host string) string { return Logs + "/" + host }
